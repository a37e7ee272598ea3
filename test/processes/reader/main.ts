/**
 * Follows a journal until its test is done, in two ways at once: it asks a replica for the state as it is now, which must hold
 * everything that was acknowledged before; and it walks the records themselves and logs the place and the id of each one shown.
 */
import { existsSync } from 'node:fs'
import { history } from '../../../src/journal/history.ts'
import { childOptions, testIsDone } from '../child.ts'
import { openJournal } from '../journal.ts'
import { attempt, Log, readLog } from '../log.ts'

export interface ReaderOptions {
  readonly directory: string
  readonly log: string
  readonly name: string
}

const options = childOptions<ReaderOptions>()
const earlier = existsSync(options.log) ? readLog(options.log) : []
const log = new Log(options.log)

let over = false
void testIsDone().then(() => {
  over = true
})

const opened = await openJournal(options)
/** Up to here everything was shown. */
let shownTo = earlier.flatMap((line) => ('shown' in line ? [line.shown.at] : [])).at(-1) ?? -1
let segmentOfLast = 0

async function follow(): Promise<void> {
  const segments = await opened.journal.segments()
  const from = segments.findLast((first) => first <= Math.max(shownTo, segmentOfLast)) ?? 0
  for await (const { verdict, segment } of history(opened.journal, { from })) {
    segmentOfLast = segment
    if (verdict.kind !== 'counted' || verdict.at <= shownTo) continue
    log.add({ shown: { at: verdict.at, id: verdict.record.id } })
    shownTo = verdict.at
    if (over) return
  }
}

async function look(i: number): Promise<void> {
  const name = `${options.name}#${process.pid}.${i}`
  log.add({ attempt: await attempt(opened, { name, kind: 'read', journal: 0, text: '' }, { name, process: options.name }) })
}

let wakeUp: () => void = () => undefined
const stopWatching = opened.engine.watch(() => wakeUp())
for (let i = 0; !over; i++) {
  await look(i)
  await follow()
  // The feed tells when something changed; a hint may be missing, so there is a limit to the patience.
  await new Promise<void>((resolve) => {
    wakeUp = resolve
    setTimeout(resolve, 50)
  })
}
stopWatching()
await opened.engine.close()
process.exit(0)
