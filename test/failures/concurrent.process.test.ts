import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, expect, test } from 'vitest'
import { useDirectory } from './directory.ts'
import { inspect, write } from './journal.ts'

const place = useDirectory()

interface Writer {
  readonly child: ChildProcess
  /** What it said was acknowledged, so far. */
  readonly acknowledged: string[]
  /** Resolves when it has said so many. */
  said(count: number): Promise<void>
  readonly ended: Promise<unknown>
}

let children: ChildProcess[] = []
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  children = []
})

/** Starts a writer as a process of its own, from what the compiler left in `build/`. It writes so many notes, or never stops. */
function startWriter(name: string, count = 0): Writer {
  const program = join(process.cwd(), 'build', 'test', 'failures', 'writer', 'main.js')
  const child = spawn(process.execPath, [program, place().directory, name, String(count)], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const acknowledged: string[] = []
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => acknowledged.push(line))
  return {
    child,
    acknowledged,
    said: async (many) => {
      while (acknowledged.length < many) await once(lines, 'line')
    },
    ended: Promise.all([once(child, 'exit'), once(lines, 'close')]),
  }
}

test('F10 two processes: every acknowledged note of every process is there, once, and all readers see one order', async () => {
  const writers = ['a', 'b', 'c', 'd'].map((name) => startWriter(name, 40))
  const here = await place().open()
  const mine = Array.from({ length: 40 }, (_, i) => `here ${i}`)
  for (const note of mine) await here.replica.submit(write(note))
  await Promise.all(writers.map(({ ended }) => ended))
  for (const { child } of writers) expect(child.exitCode).toBe(0)
  const { notes, damage } = await inspect(here.journal)
  expect([...notes].sort()).toEqual([...mine, ...writers.flatMap(({ acknowledged }) => acknowledged)].sort())
  expect(damage).toEqual([])
  for (const name of ['a', 'b', 'c', 'd', 'here']) {
    const own = notes.filter((note) => note.startsWith(`${name} `))
    expect(own).toEqual(Array.from({ length: 40 }, (_, i) => `${name} ${i}`))
  }
  expect((await here.replica.read()).state).toEqual(notes)
  expect((await (await place().open()).replica.read()).state).toEqual(notes)
})

test('F11 stale lock: after kill -9 the next process goes on at once, and nothing is left behind that could hold it up', async () => {
  const survivor = await place().open()
  for (let round = 0; round < 3; round++) {
    const writer = startWriter(`round ${round}`)
    await writer.said(5)
    writer.child.kill('SIGKILL')
    await writer.ended
    expect(writer.child.signalCode).toBe('SIGKILL')
    const started = performance.now()
    await survivor.replica.submit(write(`survivor ${round}`))
    const fresh = await place().open()
    await fresh.replica.submit(write(`fresh ${round}`))
    // Nobody waits for a lock to run out. The bound is generous, since the machine may be busy; locks that are waited for live for ten seconds and more.
    expect(performance.now() - started).toBeLessThan(8_000)
    const { notes } = await inspect(fresh.journal)
    for (const note of [...writer.acknowledged, `survivor ${round}`, `fresh ${round}`])
      expect(notes.filter((one) => one === note)).toEqual([note])
  }
  const pids = children.map(({ pid }) => String(pid))
  for (const name of await readdir(place().directory, { recursive: true })) {
    expect(name).toMatch(
      /^(holdfast\.json|reserve|feed(\/.*)?|watermarks(\/\.?[0-9a-f]{2}\.[0-9a-f-]{36}(\.tmp)?)?|sessions(\/[0-9a-f]+)*(\/session-[0-9a-f]+(\/\d{16}\.(jsonl|ids))?)?)$/,
    )
    for (const pid of pids) expect(name.split(/[/.-]/)).not.toContain(pid)
  }
  // Each process that finds no session writes the line again (`identity.ts`).
  const identities = (await readFile(join(place().directory, 'holdfast.json'), 'utf8')).split('\n').filter((line) => line !== '')
  expect(new Set(identities).size).toBe(1)
  for (const line of identities) expect(JSON.parse(line)).not.toHaveProperty('pid')
})

test('F11 stale lock: a process that hangs holds up nobody', async () => {
  const writer = startWriter('hanging')
  await writer.said(3)
  writer.child.kill('SIGSTOP')
  const { replica } = await place().open()
  const started = performance.now()
  for (let i = 0; i < 10; i++) await replica.submit(write(`other ${i}`))
  expect(performance.now() - started).toBeLessThan(8_000)
  writer.child.kill('SIGCONT')
  await writer.said(writer.acknowledged.length + 3)
  writer.child.kill('SIGKILL')
  await writer.ended
  const { notes } = await inspect((await place().open()).journal)
  for (const note of writer.acknowledged) expect(notes.filter((one) => one === note)).toEqual([note])
})
