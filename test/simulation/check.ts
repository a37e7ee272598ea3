/** Holds what clients were told against what stands in the journals. Each finding is a broken promise. */
import type { Counted } from '../../src/record/fold.ts'
import { WRITTEN_TWICE } from '../../src/record/record.ts'
import type { Attempt } from './client.ts'
import type { JournalFound, Journals } from './reader.ts'
import { reducer, type Seen } from './reducer.ts'

export interface Finding {
  readonly what: string
  readonly detail: string
}

export interface CheckInput {
  readonly attempts: readonly Attempt[]
  /** What a new process found at the end, and what another one found after somebody had written once more. */
  readonly first: Journals
  readonly second: Journals
  /** A write-back failed in this run: what others were told of nothing may be gone. */
  readonly lostWriteBack: boolean
  /** A segment may have been given up in this run, since a sync or a look at it failed: what the next one carries of it may be gone here. */
  readonly givenUp: boolean
}

export type { Journals }

export function checkRun(input: CheckInput): { findings: Finding[]; limits: number } {
  const findings: Finding[] = []
  let limits = 0
  for (const [index, journal] of input.second.entries()) {
    const attempts = input.attempts.filter((attempt) => attempt.journal === index)
    const checker = new JournalCheck(attempts, input.first[index] as JournalFound, journal)
    checker.check()
    findings.push(...checker.findings.map((finding) => ({ ...finding, detail: `journal ${index}: ${finding.detail}` })))
    if (!input.givenUp)
      findings.push(...journal.missing.map((at) => ({ what: 'a false alarm', detail: `journal ${index}: missing at ${at}` })))
    if (input.lostWriteBack) limits += checker.gone.length
    else findings.push(...checker.gone)
  }
  return { findings, limits }
}

/** One rotten bit costs the line that it is in, or two where it was the end of one; it changes nothing about any other. */
export function checkRot(
  rotten: { readonly journal: number; readonly at: number },
  before: Journals,
  after: Journals,
  lostWriteBack: boolean,
): Finding[] {
  const findings: Finding[] = []
  for (const [index, journal] of before.entries()) {
    // By id: of a record that stands twice, or is carried along, another copy may count now.
    const left = new Set(after[index]?.counted.map(({ record }) => record.id))
    const known = new Set(journal.counted.map(({ record }) => record.id))
    for (const { at, end, record, stands } of journal.counted) {
      const hit = index === rotten.journal && stands <= rotten.at + 2 && rotten.at < stands + end - at
      const detail = `${String(record.attempt)} at ${at}, the bit is at ${rotten.at}`
      if (!hit && !left.has(record.id)) findings.push({ what: 'rot cost another record', detail })
    }
    for (const { at, record } of after[index]?.counted ?? []) {
      if (!known.has(record.id)) findings.push({ what: 'rot made a record', detail: `at ${at}` })
    }
    // Where the stated limit cost records, checkpoints still tell of them, and which of them is read changes with the rot.
    if (!lostWriteBack) findings.push(...checkLoadedAfterRot(journal, after[index] as JournalFound))
  }
  return findings
}

/** A checkpoint behind the rotten line covers it; otherwise the state is that of the records that are left, in their order. */
function checkLoadedAfterRot(before: JournalFound, { counted, loaded, kept }: JournalFound): Finding[] {
  if (kept > 0 || loaded.chain === before.loaded.chain) return []
  const { chain } = counted.reduce<Seen>(reducer.apply, reducer.initial)
  return chain === loaded.chain ? [] : [{ what: 'after rot, a new process loads something else', detail: JSON.stringify(loaded) }]
}

class JournalCheck {
  readonly findings: Finding[] = []
  /** Shown, or acknowledged as a duplicate, and then gone: excused where a failed write-back was told to other processes only. */
  readonly gone: Finding[] = []
  readonly #attempts: readonly Attempt[]
  readonly #before: JournalFound
  readonly #journal: JournalFound
  readonly #counted: readonly Counted[]

  constructor(attempts: readonly Attempt[], before: JournalFound, journal: JournalFound) {
    this.#attempts = attempts
    this.#before = before
    this.#journal = journal
    this.#counted = journal.counted.filter(({ record, at }) => record.type !== 'segment.sealed' && at >= journal.kept)
  }

  check(): void {
    this.#checkNothingTwice()
    this.#checkAcknowledged()
    this.#checkRefused()
    this.#checkConditions()
    this.#checkShown()
    this.#checkReadsSeeWhatWasAcknowledged()
    this.#checkHelpersAgree()
    this.#checkNothingChangedAfterwards()
  }

  #checkNothingTwice(): void {
    const wishes = new Map<unknown, number>()
    for (const { record, at } of this.#counted) {
      // A key belongs to one incarnation: the one that its writer saw, for where that began may be among what the stated limit has cost.
      const key = `${String(record.life)} ${String(record.key)}`
      if (record.type !== 'session.created' && wishes.has(key))
        this.#find('written twice', `${String(record.key)} at ${wishes.get(key)} and ${at}`)
      wishes.set(key, at)
    }
  }

  #checkAcknowledged(): void {
    for (const attempt of this.#attempts) {
      if (attempt.told !== 'done' && attempt.told !== 'duplicate') continue
      if (attempt.at < this.#journal.kept) continue
      // Of a record that is written twice, the other copy may be the one that is left.
      const found =
        this.#counted.find(({ at }) => at === attempt.at) ??
        this.#counted.find(({ record }) => record.key === attempt.wish && WRITTEN_TWICE.has(record.type))
      const right =
        found !== undefined && found.record.key === attempt.wish && (attempt.told === 'duplicate' || found.record.attempt === attempt.name)
      if (right) continue
      const finding = {
        what: 'acknowledged and lost',
        detail: `${attempt.told} ${attempt.name} at ${attempt.at}; there: ${JSON.stringify(found?.record.attempt)}`,
      }
      if (attempt.told === 'duplicate') this.gone.push(finding)
      else this.findings.push(finding)
    }
  }

  #checkRefused(): void {
    const failed = new Set(this.#attempts.filter(({ told }) => told === 'none' || told === 'refused').map(({ name }) => name))
    for (const { record, at } of this.#counted) {
      if (failed.has(String(record.attempt))) this.#find('refused and yet there', `${String(record.attempt)} at ${at}`)
    }
  }

  /** An acknowledged record stands exactly behind what its writer had seen. */
  #checkConditions(): void {
    const offset = this.#offset()
    if (offset === undefined) return
    for (const [index, { record, at }] of this.#counted.entries()) {
      const attempt = this.#attempts.find(({ name, told }) => name === record.attempt && told === 'done')
      if (attempt === undefined || record.saw === undefined) continue
      if (record.saw !== index + offset)
        this.#gone(
          'decided on something else',
          `${attempt.name} at ${at} saw ${String(record.saw)} records; ${index + offset} are in front of it`,
        )
      if (attempt.expected !== undefined && attempt.expected !== index + offset)
        this.#gone('a condition did not hold', `${attempt.name} expected ${attempt.expected}`)
    }
  }

  /** Whatever a process has shown is a prefix of what is there now. */
  #checkShown(): void {
    const prefixes = this.#prefixes()
    if (prefixes === undefined) return
    for (const { name, seen, told } of this.#attempts) {
      if (seen === undefined || told === 'died' || told === 'unknown') continue
      const known = prefixes.get(seen.count)
      if (known === undefined && seen.count < (prefixes.keys().next().value ?? 0)) continue
      if (known?.chain !== seen.chain)
        this.#gone('shown and gone', `${told} ${name} saw ${seen.count} records that are not the first ones now`)
    }
  }

  #checkReadsSeeWhatWasAcknowledged(): void {
    const offset = this.#offset()
    if (offset === undefined) return
    const indexes = new Map(this.#counted.map(({ at }, index) => [at, index + offset]))
    const acknowledged = this.#attempts.filter(({ told }) => told === 'done')
    for (const read of this.#attempts) {
      if (read.seen === undefined || !['read', 'done', 'duplicate'].includes(read.told)) continue
      for (const write of acknowledged) {
        const index = indexes.get(write.at)
        if (write.ended < read.begun && index !== undefined && index >= read.seen.count) {
          this.#gone(
            'a read went back',
            `${read.name} saw ${read.seen.count} records, without ${write.name}, which was acknowledged before`,
          )
        }
      }
    }
  }

  #checkHelpersAgree(): void {
    const prefixes = this.#prefixes()
    if (prefixes === undefined) return
    for (const { base, seen } of this.#journal.checkpoints) {
      const inFront = this.#counted.filter(({ at }) => at < base).length + (this.#offset() ?? 0)
      const expected = prefixes.get(inFront)
      if (expected !== undefined && (expected.chain !== seen.chain || expected.alive !== seen.alive)) {
        this.#gone('a checkpoint disagrees', `at ${base}: ${JSON.stringify(seen)} instead of ${JSON.stringify(expected)}`)
      }
    }
    const last = prefixes.get(this.#counted.length + (this.#offset() ?? 0))
    if (last !== undefined && last.chain !== this.#journal.loaded.chain)
      this.#gone('a new process loads something else', JSON.stringify(this.#journal.loaded))
  }

  #checkNothingChangedAfterwards(): void {
    const now = new Map(this.#counted.map(({ at, crc }) => [at, crc]))
    for (const { at, crc, record } of this.#before.counted) {
      if (record.type !== 'segment.sealed' && at >= this.#journal.kept && now.get(at) !== crc)
        this.#find('gone after somebody wrote', `${String(record.attempt)} at ${at}`)
    }
  }

  /** How many records were purged in front of the first one that is there, if that can be told. */
  #offset(): number | undefined {
    if (this.#journal.kept === 0) return 0
    return this.#journal.checkpoints.find(({ base }) => base === this.#journal.kept)?.seen.count
  }

  /** The state after each number of records. */
  #prefixes(): Map<number, Seen> | undefined {
    const start =
      this.#journal.kept === 0 ? reducer.initial : this.#journal.checkpoints.find(({ base }) => base === this.#journal.kept)?.seen
    if (start === undefined) return undefined
    const prefixes = new Map([[start.count, start]])
    let seen = start
    for (const counted of this.#counted) {
      seen = reducer.apply(seen, counted)
      prefixes.set(seen.count, seen)
    }
    return prefixes
  }

  #gone(what: string, detail: string): void {
    this.gone.push({ what, detail })
  }

  #find(what: string, detail: string): void {
    this.findings.push({ what, detail })
  }
}
