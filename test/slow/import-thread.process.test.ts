/** An import that is read by a thread of its own gives the same store, and the same report, as one that is not. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { exportFrom } from '../../src/transfer/export/export.ts'
import { importInto } from '../../src/transfer/import/import.ts'
import { sourcesAt } from '../../src/transfer/sources.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'cli', 'start.cjs')

async function exported(store: Store): Promise<string> {
  let text = ''
  for await (const piece of exportFrom(store)) text += piece
  // What has no time in the source happened when it was imported.
  return text.replace(/^(\{(?:"holdfast":1,"kind":"session","session":"[^"]*"|"kind":"entry"),"at":")[^"]*/gm, '$1')
}

/** More than a thread is started for, with everything that lines may be: plain, spaced, escaped, branching, repeated, torn, not UTF-8. */
function conversation(): Buffer {
  const lines: Buffer[] = []
  const line = (text: string | Buffer): void => void lines.push(Buffer.from(text), Buffer.from('\n'))
  for (let i = 0; i < 6000; i++) {
    const timestamp = `2026-11-15T09:${String(Math.floor(i / 60) % 60).padStart(2, '0')}:${String(i % 60).padStart(2, '0')}.123456`
    const message = {
      role: i % 2 === 0 ? 'user' : 'assistant',
      content: `${i} "quoted"\n ${i % 3 === 0 ? 'ünï' : 'uni'} ${'and so on '.repeat(80)}`,
      timestamp,
    }
    line(i % 7 === 0 ? JSON.stringify(message, null, 1).replaceAll('\n', ' ') : JSON.stringify(message))
    if (i % 500 === 0) line(JSON.stringify(message))
    if (i % 1000 === 3) line('{"role":"user","content":"to')
    if (i % 1000 === 4) line(Buffer.from([...Buffer.from('{"role":"user","content":"'), 0xff, ...Buffer.from('"}')]))
    if (i % 1000 === 5) line('{"role":"user","content":"half of a pair: \\ud83d"}')
    if (i % 1000 === 6) line(JSON.stringify({ cursor: i, timestamp, content: 'a note' }))
  }
  return Buffer.concat(lines)
}

test('a file of some MB, read by a thread, becomes the same session', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-thread-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'cli_direct.jsonl')
  const bytes = conversation()
  expect(bytes.length).toBeGreaterThan(4 * 1024 * 1024)
  writeFileSync(file, bytes)
  const [here, there] = [join(directory, 'here'), join(directory, 'there')]
  const threaded = spawnSync(process.execPath, [MAIN, '--store', there, '--json', 'import', file], { encoding: 'utf8', maxBuffer: 1e8 })
  expect(threaded.status).toBe(0)
  // Sources that were not compiled are not run by a thread.
  const store = await openStore(here)
  const other = await openStore(there)
  try {
    const reports = []
    for await (const report of importInto(store, sourcesAt([file]))) reports.push(report)
    const [told] = threaded.stdout
      .trim()
      .split('\n')
      .map((one) => JSON.parse(one) as Record<string, unknown>)
    const { session, ...rest } = reports[0] as NonNullable<(typeof reports)[0]>
    expect(told).toEqual({ session_id: session, ...rest })
    expect(rest).toMatchObject({ messages: 6024, damaged: 12, recovered: 6 })
    expect(await exported(other)).toBe(await exported(store))
  } finally {
    await store.close()
    await other.close()
  }
})

test('a library user who stops in the middle leaves no thread behind, and the next import goes on', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-thread-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'cli_direct.jsonl')
  writeFileSync(file, conversation())
  const script = `
    import { importInto, openStore, sourcesAt } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
    const store = await openStore(${JSON.stringify(join(directory, 'store'))})
    const stop = new AbortController()
    const onProgress = ({ messages }) => { if (messages > 2000) stop.abort() }
    let first = 0
    for await (const { messages } of importInto(store, sourcesAt([${JSON.stringify(file)}]), { signal: stop.signal, onProgress })) first += messages
    let second = 0
    for await (const { messages } of importInto(store, sourcesAt([${JSON.stringify(file)}]))) second += messages
    await store.close()
    console.log(JSON.stringify({ first, second }))`
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', timeout: 60_000 })
  expect(ended.stderr).toBe('')
  const { first, second } = JSON.parse(ended.stdout) as { first: number; second: number }
  expect(first).toBeGreaterThan(0)
  expect(second).toBeGreaterThan(0)
  expect(first + second).toBe(6024)
})

test('the thread of one import reads for the next, and holds up no process that is done', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-thread-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const files = ['cli_one.jsonl', 'cli_two.jsonl'].map((name) => join(directory, name))
  // The second is not the first, which would be known.
  for (const [i, file] of files.entries()) writeFileSync(file, Buffer.concat([conversation(), Buffer.from('\n'.repeat(i))]))
  const script = `
    import { importInto, openStore, sourcesAt } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
    let threads = 0
    process.on('worker', () => threads++)
    const store = await openStore(${JSON.stringify(join(directory, 'store'))})
    const counts = []
    for (const file of ${JSON.stringify(files)}) {
      for await (const { messages } of importInto(store, sourcesAt([file]))) counts.push(messages)
    }
    await store.close()
    const doneAt = performance.now()
    process.on('exit', () => console.log(JSON.stringify({ threads, counts, waitedMs: performance.now() - doneAt })))`
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', timeout: 60_000 })
  expect(ended.stderr).toBe('')
  const { threads, counts, waitedMs } = JSON.parse(ended.stdout) as { threads: number; counts: number[]; waitedMs: number }
  expect(threads).toBe(1)
  expect(counts).toEqual([6024, 6024])
  // Well before the thread would end by itself.
  expect(waitedMs).toBeLessThan(5000)
})
