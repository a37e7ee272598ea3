/**
 * What a process that has never seen a journal finds in it, from its first byte on: the records, the checkpoints, and what is torn.
 * Bodies are dropped while reading, since the journals of these tests do not fit into memory.
 */
import { history } from '../../src/journal/history.ts'
import { checkRun, type Finding } from '../simulation/check.ts'
import type { Attempt } from '../simulation/client.ts'
import type { FoundRecord, JournalFound } from '../simulation/reader.ts'
import type { Seen } from '../simulation/reducer.ts'
import { type OpenedJournal, openJournal } from './journal.ts'
import { attempt } from './log.ts'

interface Found extends JournalFound {
  readonly segments: number
  readonly torn: number
  /** Records of writers that lost a race inside their write. */
  readonly misplaced: number
  /** Damage that no writer leaves behind that was killed inside a single write. */
  readonly rotten: readonly string[]
}

export interface Inspection {
  readonly findings: readonly Finding[]
  /** Before and after somebody else has written. */
  readonly first: Found
  readonly second: Found
}

async function find({ journal, replica }: OpenedJournal): Promise<Found> {
  const counted = new Map<number, FoundRecord>()
  const checkpoints: { base: number; seen: Seen }[] = []
  const rotten: string[] = []
  const missing: number[] = []
  let torn = 0
  let misplaced = 0
  for await (const { verdict, line } of history(journal)) {
    if (verdict.kind === 'counted') counted.set(verdict.at, { ...verdict, stands: line.at, record: { ...verdict.record, text: undefined } })
    else if (verdict.kind === 'checkpoint')
      checkpoints.push({ base: verdict.record.base as number, seen: verdict.record.state as unknown as Seen })
    else if (verdict.kind === 'damage' && verdict.as === 'torn') torn++
    else if (verdict.kind === 'damage' && verdict.as === 'missing') missing.push(verdict.at)
    else if (verdict.kind === 'damage') rotten.push(`${verdict.as} at ${verdict.at}`)
    else if (verdict.why === 'misplaced') misplaced++
  }
  const segments = await journal.segments()
  return {
    counted: [...counted.values()].sort((a, b) => a.at - b.at),
    checkpoints,
    loaded: (await replica.read()).state,
    kept: segments[0] ?? 0,
    segments: segments.length,
    torn,
    misplaced,
    rotten,
    missing,
  }
}

/** Holds what was told against what is there, then writes, and looks again: nothing may come back, and nothing may go. */
export async function inspect(directory: string, attempts: readonly Attempt[]): Promise<Inspection> {
  const reader = await openJournal({ directory })
  const first = await find(reader)
  await reader.engine.close()
  const writer = await openJournal({ directory })
  const later: Attempt[] = []
  for (const kind of ['create', 'append', 'append'] as const) {
    const name = `inspection.${later.length}`
    later.push(await attempt(writer, { name, kind, journal: 0, text: 'later' }, { name, process: 'inspection' }))
  }
  const second = await find(writer)
  await writer.engine.close()
  const all = [...attempts, ...later]
  const { findings } = checkRun({ attempts: all, first: [first], second: [second], lostWriteBack: false, givenUp: false })
  const crashes = all.filter(({ crashed }) => crashed === true).map(({ name, error }) => ({ what: 'crashed', detail: `${name}: ${error}` }))
  const refused = later.filter(({ told, kind }) => kind === 'append' && told !== 'done')
  const stuck = refused.map(({ error }) => ({ what: 'cannot be written any more', detail: String(error) }))
  return { findings: [...findings, ...crashes, ...stuck, ...decidedOnSomethingElse(second)], first, second }
}

/** The one rule, for every record whether or not anybody was told of it: in front of it stands exactly what its writer had read. */
function decidedOnSomethingElse({ counted, kept }: Found): Finding[] {
  if (kept > 0) return []
  const records = counted.filter(({ record }) => record.type !== 'segment.sealed')
  const wrong = records.map(({ record, at }, index) => ({ saw: record.saw, index, at })).filter(({ saw, index }) => saw !== index)
  return wrong.map(({ saw, index, at }) => ({
    what: 'decided on something else',
    detail: `at ${at}, on ${saw} records instead of ${index}`,
  }))
}
