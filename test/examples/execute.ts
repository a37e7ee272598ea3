/**
 * Executes an example as its reader would: a process of its own, an empty directory to work in, and the package as it is published.
 * A module is put into `build/examples/`, because a file inside the package may import 'holdfast' by the package's own exports, which
 * point to `dist/`. A shell block finds `holdfast` and `npx holdfast` on its path, both of them `dist/cli/start.cjs`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import ts from 'typescript'
import { ROOT } from '../tidy/sources.ts'
import type { Example } from './extract.ts'

/** Longer than any example takes on a busy machine, shorter than the patience of the test around it. */
const TIMEOUT_MS = 120_000

/** A timer that is left behind keeps the program running after all is done. */
const LEFT_BEHIND = `
const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
if (timers > 0) {
  console.error(timers + ' timers keep this program running')
  process.exit(1)
}
`

export interface Outcome {
  /** Null if it was stopped because it took too long. */
  readonly status: number | null
  readonly output: string
}

export async function execute(example: Example): Promise<Outcome> {
  mkdirSync(join(ROOT, 'build', 'examples'), { recursive: true })
  const code = mkdtempSync(join(ROOT, 'build', 'examples', 'example-'))
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-example-'))
  try {
    const [program, words] = example.kind === 'module' ? writeModule(example, code) : writeShell(example, code)
    const child = spawn(program, words, {
      cwd: directory,
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, HOLDFAST_STORE: join(directory, 'store'), PATH: `${code}${delimiter}${process.env.PATH}` },
    })
    const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    return { status, output: stdout + stderr }
  } finally {
    rmSync(directory, { recursive: true, force: true })
    rmSync(code, { recursive: true, force: true })
  }
}

function writeModule({ place, text }: Example, code: string): [string, string[]] {
  const options = { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true }
  const { outputText, diagnostics = [] } = ts.transpileModule(text, { fileName: place, reportDiagnostics: true, compilerOptions: options })
  const [wrong] = diagnostics
  if (wrong !== undefined) throw new SyntaxError(`${place}: ${ts.flattenDiagnosticMessageText(wrong.messageText, '\n')}`)
  const file = join(code, 'example.mjs')
  writeFileSync(file, `${outputText}\n${LEFT_BEHIND}`)
  return [process.execPath, [file]]
}

function writeShell({ text }: Example, code: string): [string, string[]] {
  const holdfast = `exec '${process.execPath}' '${join(ROOT, 'dist', 'cli', 'start.cjs')}' "$@"`
  const npx = `[ "$1" = holdfast ] || { echo "An example may use npx for holdfast only" >&2; exit 1; }\nshift\n${holdfast}`
  for (const [name, script] of Object.entries({ holdfast, npx })) {
    writeFileSync(join(code, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(code, name), 0o755)
  }
  return ['bash', ['-euo', 'pipefail', '-c', text]]
}
