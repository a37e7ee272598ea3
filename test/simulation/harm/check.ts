/** Holds what clients were told in a run with harms against what is true. Each finding is a broken promise. */
import { HoldfastError } from '../../../src/errors.ts'
import type { Finding } from '../check.ts'
import { type Attempt, isAlarm } from './client.ts'
import { epochOf, type Ledger } from './ledger.ts'

/** Checks an attempt when it has ended: what is on the disk then decides. */
export function checkAttempt(attempt: Attempt, ledger: Ledger): Finding[] {
  const { journal, begun, ended, told, at, error, name, kind } = attempt
  if (told === 'died') return []
  const where = `journal ${journal}: ${kind} ${name}`
  if (error !== undefined && !(error instanceof HoldfastError))
    return [{ what: 'crashed', detail: `${where}: ${error instanceof Error ? error.stack : String(error)}` }]
  if (isAlarm(attempt) && !ledger.mayReport(journal, begun, ended))
    return [{ what: 'a false alarm', detail: `${where}: ${error instanceof Error ? error.message : JSON.stringify(attempt.loss)}` }]
  if (told === 'done') {
    // Once somebody has accepted the loss, also what was written before that may be acknowledged.
    const broken = ledger.brokenMark(journal, ledger.landed.get(name) ?? begun, Math.max(epochOf(at), ledger.epochOf(journal)), {
      loads: false,
    })
    if (broken !== undefined)
      return [{ what: 'acknowledged although bytes had vanished', detail: `${where} at ${at}; watermark ${JSON.stringify(broken)}` }]
  }
  return told === 'read' && attempt.loss === undefined ? checkRead(attempt, ledger, where) : []
}

/** A process that started after the harm must report it, and so must one that had read what vanished. */
function checkRead({ journal, begun, started, knew }: Attempt, ledger: Ledger, where: string): Finding[] {
  const epoch = ledger.epochOf(journal, begun)
  const fresh = ledger.brokenMark(journal, started, epoch, { loads: true })
  if (fresh !== undefined) return [{ what: 'a loss was not reported', detail: `${where}; watermark ${JSON.stringify(fresh)}` }]
  const broken = ledger.brokenMark(journal, begun, epoch, { loads: false })
  if (broken === undefined || knew === undefined || broken.flushed >= broken.lost) return []
  const hadRead = knew.step < broken.lost && knew.end >= broken.end && knew.segment <= broken.start
  return hadRead
    ? [{ what: 'what was shown vanished in silence', detail: `${where}; it knew ${knew.end}, watermark ${JSON.stringify(broken)}` }]
    : []
}

/** A record as it was found at the end. */
export interface FoundRecord {
  readonly at: number
  readonly attempt: unknown
  readonly key: unknown
}

/** Checks everything that was acknowledged. `limits` counts losses that no watermark covered. */
export function checkAcknowledged(
  attempts: readonly Attempt[],
  found: readonly (readonly FoundRecord[])[],
  ledger: Ledger,
  life: number,
): { readonly findings: Finding[]; readonly limits: number } {
  const findings: Finding[] = []
  let limits = 0
  for (const [index, truth] of ledger.journals.entries()) {
    const records = new Map((found[index] ?? []).map((record) => [record.at, record]))
    const done = attempts.filter(
      (attempt) => attempt.journal === index && attempt.told === 'done' && attempt.kind !== 'lease' && attempt.life === life,
    )
    for (const { at, name, begun, ended } of done) {
      if (records.get(at)?.attempt === name || at < truth.purgedTo) continue
      // A process that did not know of a cut yet has made the next segment where others write by now.
      const shadowed = truth.harms.length > 0 && ledger.isShadowed(index, at, name)
      const destroyed = truth.destroyed.has(name) || ledger.wasHarmedWithin(index, begun, ended)
      if (!destroyed && !shadowed) findings.push({ what: 'acknowledged and lost', detail: `journal ${index}: ${name} at ${at}` })
      else if (truth.acceptances.length === 0) limits++
    }
    findings.push(...positionsUsedTwice(done, index, ledger))
    const reads = attempts.filter((attempt) => attempt.journal === index && attempt.told === 'read' && attempt.life === life)
    findings.push(...disagreements(reads, index, ledger))
    const accepts = attempts.filter((attempt) => attempt.journal === index && attempt.kind === 'accept' && attempt.life === life)
    findings.push(...revivals(reads, accepts, index, ledger))
  }
  return { findings, limits }
}

/**
 * A position is never acknowledged twice, unless the first record was destroyed unnoticed and nobody has accepted that; nor if an acceptance came
 * between, unless nothing was left that knew of this epoch.
 */
function positionsUsedTwice(done: readonly Attempt[], index: number, ledger: Ledger): Finding[] {
  const findings: Finding[] = []
  const first = new Map<number, Attempt>()
  const { acceptances, marks } = ledger.journals[index] as Ledger['journals'][number]
  for (const attempt of done.toSorted((a, b) => a.ended - b.ended)) {
    const before = first.get(attempt.at)
    first.set(attempt.at, attempt)
    if (before === undefined) continue
    const harmed = ledger.wasHarmedWithin(index, Math.min(before.begun, attempt.begun), attempt.ended)
    const isKnown = (step: number): boolean =>
      [...marks.values()].some((mark) => mark.flushed < step && epochOf(mark.start) >= epochOf(attempt.at))
    const accepted = acceptances.some(({ begun, ended }) => begun > before.ended && ended < attempt.begun && isKnown(begun))
    if (!harmed || accepted)
      findings.push({ what: 'a position was used twice', detail: `journal ${index}: ${before.name} and ${attempt.name} at ${attempt.at}` })
  }
  return findings
}

/** The epoch after a loss begins with what was left of the journal, and not with what a process had read before the loss. */
function revivals(reads: readonly Attempt[], accepts: readonly Attempt[], index: number, ledger: Ledger): Finding[] {
  const accepted = Math.min(...accepts.map(({ begun }) => begun))
  return reads
    .filter(({ saw, loss, ended }) => saw?.isRevived === true && loss === undefined && !ledger.wasHarmedWithin(index, accepted, ended))
    .map(({ name }) => ({ what: 'a lost state came back', detail: `journal ${index}: ${name} saw it` }))
}

/** Once a loss was accepted, all processes that have read up to the same position know the same, even if they had read more before. */
function disagreements(reads: readonly Attempt[], index: number, ledger: Ledger): Finding[] {
  const findings: Finding[] = []
  const first = new Map<number, Attempt>()
  for (const read of reads) {
    const { saw, loss, name, ended } = read
    if (saw === undefined || loss !== undefined || epochOf(saw.end) === 0) continue
    const before = first.get(saw.end)
    first.set(saw.end, read)
    if (before === undefined || before.saw?.count === saw.count || ledger.wasHarmedWithin(index, before.begun, ended)) continue
    const detail = `journal ${index}: up to ${saw.end}, ${before.name} counted ${before.saw?.count} records, and ${name} ${saw.count}`
    findings.push({ what: 'two processes disagree', detail })
  }
  return findings
}
