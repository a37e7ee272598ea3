/**
 * A writer that appends as fast as it can until it is killed or its test is done. It logs each wish before the first attempt and each
 * answer when it has it; a successor reads that log, and first repeats what its predecessor was not told, under the same keys.
 */
import { existsSync, writeSync } from 'node:fs'
import type { Wish } from '../../simulation/client.ts'
import { Random } from '../../simulation/random.ts'
import { childOptions, testIsDone } from '../child.ts'
import { openJournal } from '../journal.ts'
import { attempt, attemptsOf, Log, type LoggedWish, readLog, textOf } from '../log.ts'

export interface WriterOptions {
  readonly directory: string
  readonly log: string
  /** The same for all that use one log, one after the other. */
  readonly name: string
  readonly seed: number
  readonly segmentBytes: number
  /** Sizes of the records, spread evenly over the orders of magnitude. */
  readonly smallestBytes: number
  readonly largestBytes: number
  /** Appends under way at once. */
  readonly lanes: number
}

/** The test is told before a record of this size is written, so that it can strike inside the write. */
const LARGE_BYTES = 128 * 1024

const options = childOptions<WriterOptions>()
const random = new Random(options.seed)
const before = existsSync(options.log) ? readLog(options.log) : []
const log = new Log(options.log)
const answered = new Set(attemptsOf(before).flatMap(({ told, wish }) => (['none', 'unknown'].includes(told) ? [] : [wish])))
const inherited = before.flatMap((line) => ('wanted' in line && !answered.has(line.wanted.wish) ? [line.wanted] : []))

let over = false
void testIsDone().then(() => {
  over = true
})

const opened = await openJournal(options)
let made = 0
let lastCount: number | undefined

function pickBytes(): number {
  const { smallestBytes, largestBytes } = options
  return Math.round(smallestBytes * (largestBytes / smallestBytes) ** random.float())
}

function nextWish(): LoggedWish {
  const kind = random.chance(0.05) ? 'append if' : 'append'
  const wanted: LoggedWish = { wish: `${options.name}.${options.seed}.${made}`, kind, bytes: pickBytes() }
  made++
  log.add({ wanted })
  return wanted
}

/** What a record of this client takes beside its text. */
const FRAME_BYTES = 290

/** The text looks like a line of its own, in case a fragment of it is ever taken for one. */
function textFor(bytes: number): string {
  const unit = `${random.word()} {"v":1,"type":"messages.appended"} \n`
  return unit.repeat(Math.ceil(bytes / unit.length)).slice(0, Math.max(0, bytes - FRAME_BYTES))
}

async function fulfil({ wish, kind, bytes }: LoggedWish): Promise<void> {
  const wanted: Wish = { name: wish, kind, journal: 0, text: textFor(bytes) }
  for (let tries = 0; tries < 20 && !over; tries++) {
    if (bytes >= LARGE_BYTES) writeSync(1, 'large\n')
    const made = await attempt(opened, wanted, {
      name: `${wish}#${process.pid}.${tries}`,
      process: options.name,
      expected: kind === 'append if' ? lastCount : undefined,
    })
    log.add({ attempt: made })
    lastCount = made.seen?.count ?? lastCount
    if (made.told !== 'unknown' && made.told !== 'none') return
  }
}

async function lane(): Promise<void> {
  while (!over) {
    await fulfil(inherited.shift() ?? nextWish())
    if (random.chance(0.02)) await opened.replica.beginSegment().catch((error: unknown) => log.add({ note: textOf(error) ?? '' }))
  }
}

// Whoever is first makes the session; the others are told that it is there.
const create: Wish = { name: `${options.name}.${options.seed}.create`, kind: 'create', journal: 0, text: '' }
const known = await opened.replica.read().catch((error: unknown) => log.add({ note: textOf(error) ?? '' }))
if (known?.state.alive !== true) log.add({ attempt: await attempt(opened, create, { name: create.name, process: options.name }) })
await Promise.all(Array.from({ length: options.lanes }, lane))
await opened.engine.close()
process.exit(0)
