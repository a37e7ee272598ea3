/**
 * A short life of a store, the same system calls each time. A new one: open, create a session, appends alone and together, a large one
 * that ends the segment, appends behind it, a repeated one, a read, close. An old one: open what is there, repeat something, append, end
 * the segment, read, close. A wish that fails is repeated under its key, as a client would.
 *
 * Whatever the system refuses, every answer must be one of ours: anything else ends the process with an exit code that is not 0. Files
 * that are still open after the store was closed are noted.
 */
import { readdirSync, readlinkSync } from 'node:fs'
import { type Clock, systemClock } from '../../../src/engine/clock.ts'
import { HoldfastError } from '../../../src/errors.ts'
import type { Kind } from '../../simulation/client.ts'
import { Random, simulatedIds } from '../../simulation/random.ts'
import { childOptions, testIsDone } from '../child.ts'
import { type OpenedJournal, openJournal } from '../journal.ts'
import { attempt, Log, textOf } from '../log.ts'

export interface ScenarioOptions {
  readonly directory: string
  readonly log: string
  readonly life: Life
}

/** `old`: the store is one that a new life has left. `pooled`: new, with all writes to segments made by the thread of the pool. */
export type Life = 'new' | 'pooled' | 'old'

const TRIES = 3
/** The large record is written by a thread of the pool and ends the segment; the small ones are written by the main thread. */
const SMALL_BYTES = 300
const LARGE_BYTES = 100_000
const SEGMENT_BYTES = 32_000

const options = childOptions<ScenarioOptions>()
const log = new Log(options.log)
void testIsDone().then(() => process.exit(1))

/** Names of files and lengths of lines must not differ between runs: a run that counted the calls tells where the next one fails. */
const ids = simulatedIds(new Random(options.life === 'old' ? 2 : 1))
const clock: Clock = {
  ...systemClock,
  now: () => Date.UTC(2026, 0, 1),
  // Watermarks are written after a while, in some runs earlier than in others. Here, they are written at the close, which ends this wait.
  sleep: (ms, signal) => systemClock.sleep(signal === undefined ? ms : 2 ** 30, signal),
}

async function open(): Promise<OpenedJournal | undefined> {
  for (let tries = 0; tries < TRIES; tries++) {
    try {
      const limits = options.life === 'pooled' ? { syncWriteBytes: 0 } : {}
      return await openJournal({ directory: options.directory, ids, clock, limits, segmentBytes: SEGMENT_BYTES })
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error
      log.add({ note: `open: ${textOf(error)}` })
    }
  }
  return undefined
}

async function fulfil(opened: OpenedJournal, name: string, kind: Kind, bytes: number): Promise<void> {
  const wish = { name, kind, journal: 0, text: 'x'.repeat(bytes) }
  for (let tries = 0; tries < TRIES; tries++) {
    // Under its own name, which is in the record and therefore as long in each run: a process id would not be.
    const made = await attempt(opened, wish, { name: `${options.life} ${name}#${log.lines}`, process: 'scenario' })
    log.add({ attempt: made })
    if (made.told !== 'none' && made.told !== 'unknown') return
  }
}

/** Files of the store that this process has open. */
function openFiles(): string[] {
  const links = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      // The one through which the directory itself was read.
      return []
    }
  })
  return links.filter((path) => path.startsWith(`${options.directory}/`))
}

async function liveAnew(opened: OpenedJournal): Promise<void> {
  const small = (name: string): Promise<void> => fulfil(opened, name, 'append', SMALL_BYTES)
  await fulfil(opened, 'create', 'create', 0)
  await small('a')
  await Promise.all([small('b'), small('c')])
  await fulfil(opened, 'large', 'append', LARGE_BYTES)
  await small('d')
  await small('a')
  await Promise.all([small('e'), small('f'), fulfil(opened, 'look', 'read', 0)])
  await small('g')
  await fulfil(opened, 'last look', 'read', 0)
}

async function liveOn(opened: OpenedJournal): Promise<void> {
  await fulfil(opened, 'a', 'append', SMALL_BYTES)
  await fulfil(opened, 'h', 'append', SMALL_BYTES)
  await fulfil(opened, 'larger', 'append', LARGE_BYTES)
  await fulfil(opened, 'b', 'append', SMALL_BYTES)
  await fulfil(opened, 'i', 'append', SMALL_BYTES)
  await fulfil(opened, 'another look', 'read', 0)
}

const opened = await open()
if (opened !== undefined) {
  await (options.life === 'old' ? liveOn(opened) : liveAnew(opened))
  await opened.engine.close()
  for (const path of openFiles()) log.add({ note: `left open: ${path}` })
}
log.add({ note: 'the end' })
process.exit(0)
