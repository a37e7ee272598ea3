import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'

const MAIN = fileURLToPath(new URL('../../build/test/simulation/main.js', import.meta.url))

/** Runs seeds from 1 on in two processes at once. None of them may break a promise. */
export async function expectNoneBroken(seeds: number, ...words: readonly string[]): Promise<void> {
  const half = seeds / 2
  for (const { code, output } of await Promise.all([runProcess(1, half, ...words), runProcess(half + 1, half, ...words)])) {
    console.log(output.trim())
    expect(output).toMatch(new RegExp(`^${half} seeds from \\d+ in [\\d.]+ s: 0 broken`, 'm'))
    // A run whose harms hit nothing that must be noticed proves nothing.
    expect(output).not.toMatch(/, 0 of them to what a watermark covered/)
    expect(code).toBe(0)
  }
}

/** Runs seeds in a process of its own, so that several use several cores. */
function runProcess(from: number, seeds: number, ...words: readonly string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, ...words, '--from', String(from), '--seeds', String(seeds), '--quiet'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (data: Buffer) => {
      output += data.toString()
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}
