/** Holds what clients of a store were told, and what its sessions show, against a naive model of what they had wished. Each finding is a broken promise. */
import { isDeepStrictEqual } from 'node:util'
import { journalName } from '../../../src/engine/names.ts'
import { WRITTEN_TWICE } from '../../../src/record/record.ts'
import { versionOf } from '../../../src/session/state.ts'
import type { Finding } from '../check.ts'
import type { SessionFound, StoreFound } from './look.ts'
import type { Attempt } from './run.ts'
import { type Step, Stories, type Story, wishOf } from './story.ts'
import type { View, Wish } from './wish.ts'

export interface StoreCheckInput {
  readonly attempts: readonly Attempt[]
  /** What a new process found at the end, and what another one found after somebody had written once more. */
  readonly first: StoreFound
  readonly second: StoreFound
  /** A write-back failed in this run: what others were told of nothing may be gone. */
  readonly lostWriteBack: boolean
  readonly powerLost: boolean
  /** Whether a worker was there at the end, between the two. */
  readonly worked: boolean
}

export function checkStore(input: StoreCheckInput): { findings: Finding[]; limits: number } {
  const { attempts, first, second, lostWriteBack, powerLost, worked } = input
  const stories = new Stories(second, new Map(attempts.map(({ wish }) => [wish.name, wish])))
  // What a fork says rests on records of its parent, too.
  const parents = new Map(attempts.flatMap(({ wish }) => (wish.kind === 'fork' ? [[wish.id, wish.session] as const] : [])))
  const isExcused = (id: string): boolean => lostWriteBack || (powerLost && [id, parents.get(id) ?? id].some((one) => hasHole(second, one)))
  const findings: Finding[] = []
  let limits = 0
  for (const [id, found] of second.sessions) {
    const own = attempts.filter(({ wish }) => wish.session === id || (wish.kind === 'fork' && wish.id === id))
    const check = new SessionCheck(id, found, stories.of(id), own)
    check.check(first.sessions.get(id)?.counted ?? [])
    if (worked) check.checkWorked()
    findings.push(...check.findings)
    if (isExcused(id)) limits += check.gone.length
    else findings.push(...check.gone)
  }
  for (const { session, kind, severity, segment, offset } of [...first.findings, ...second.findings]) {
    if (severity !== 'damage') continue
    const detail = `${kind} in ${session}, segment ${segment}, offset ${offset}`
    if (isExcused(session)) limits++
    else findings.push({ what: 'the doctor found damage', detail })
  }
  return { findings, limits }
}

/**
 * Of two records that were written together, or by others before they were synced, the power may have taken the first and left the
 * second. Neither had been acknowledged; but what the second one says rests on the first.
 */
function hasHole({ findings }: StoreFound, id: string): boolean {
  // If the power took the first record, nothing says whose journal it is.
  const names = [id, journalName('default', id)]
  return findings.some(({ session, kind }) => names.includes(session) && (kind === 'lost-page' || kind === 'unwritten'))
}

class SessionCheck {
  readonly findings: Finding[] = []
  /** Shown, or rests on what was shown, and is gone: excused where a failed write-back was told to other processes only. */
  readonly gone: Finding[] = []
  readonly #id: string
  readonly #found: SessionFound
  readonly #steps: readonly Step[]
  readonly #attempts: readonly Attempt[]
  readonly #byVersion: ReadonlyMap<string, number>

  constructor(id: string, found: SessionFound, story: Story, attempts: readonly Attempt[]) {
    this.#id = id
    this.#found = found
    this.#steps = story.steps
    this.#attempts = attempts
    // The first step of a version: the records behind it that do not change it are not a caller's.
    this.#byVersion = new Map(story.steps.map(({ version }, index) => [version, index] as const).reverse())
    this.gone.push(...story.findings)
  }

  check(before: SessionFound['counted']): void {
    for (const attempt of this.#attempts) {
      if (attempt.told === 'done' || attempt.told === 'duplicate') this.#checkAcknowledged(attempt)
      if (attempt.told === 'read' && attempt.answer?.version !== undefined) this.#checkRead(attempt)
    }
    this.#checkRefused()
    this.#checkConditions()
    this.#checkShownNow()
    this.#checkPurged()
    const now = new Map(this.#found.counted.map(({ at, crc }) => [at, crc]))
    for (const { at, crc } of before)
      if (at >= this.#found.kept && now.get(at) !== crc) this.#find('gone after somebody wrote', `the record at ${at}`)
  }

  #checkAcknowledged({ wish, told, answer, begun }: Attempt): void {
    const first = this.#found.counted.find((one) => versionOf(one) === answer?.version)
    if (told === 'duplicate' && first !== undefined && wishOf(first.record) !== wish.name)
      this.#find('another body was taken for the same', `${wish.name} under the key ${wish.key}`)
    if (wish.kind === 'fork') {
      const isThere = this.#found.kept > 0 || this.#steps.some((step) => step.wish?.name === wish.name)
      // The answer does not say whether it is a duplicate. It is one if an earlier call has written the fork.
      const mayRepeat = this.#attempts.some((other) => other.wish.name === wish.name && other.told === 'unknown' && other.begun < begun)
      const detail = `the fork ${wish.name}`
      if (wish.id !== this.#id || isThere) return
      if (mayRepeat) this.#lose('acknowledged and lost', detail)
      else this.#find('acknowledged and lost', detail)
      return
    }
    const { counted } = this.#found
    if (wish.kind === 'commit') {
      // It is not told the version, so whether it was purged cannot be told either.
      const isThere = this.#found.kept > 0 || counted.some(({ record }) => wishOf(record) === wish.name)
      if (!isThere) this.#lose('acknowledged and lost', `the commit ${wish.name}`)
      return
    }
    if (this.#isPurged(answer?.version)) return
    if (first !== undefined && wishOf(first.record) === wish.name) return
    // Of a record that is written twice, the other copy may be the one that is left.
    if (counted.some(({ record }) => wishOf(record) === wish.name && WRITTEN_TWICE.has(record.type))) return
    const step = this.#stepOf(answer?.version)
    // Going back to where one is writes nothing.
    if (wish.kind === 'revert' && step !== undefined && isAt(step, wish.target)) return
    const detail = `${told} ${wish.kind} ${wish.name} with the version ${answer?.version}; there: ${step?.wish?.name}`
    if (told === 'duplicate') this.#lose('acknowledged and lost', detail)
    else this.#find('acknowledged and lost', detail)
  }

  /** Of a record that is written twice and has lost its first copy, the version that it had then. */
  #byFirstCopy(version = ''): number | undefined {
    const end = Number.parseInt(version, 10)
    const index = this.#steps.findIndex(({ counted, ends }) => WRITTEN_TWICE.has(counted.record.type) && ends.includes(end))
    return index === -1 ? undefined : index
  }

  /** A session shows what the naive one did when it had this version; and nothing that was acknowledged before is missing. */
  #checkRead({ wish, answer, begun }: Attempt): void {
    if (this.#isPurged(answer?.version)) return
    // Half purged: the story is not known any more.
    if (this.#steps.length === 0 && this.#found.kept > 0) return
    const index = this.#byVersion.get(answer?.version ?? '') ?? this.#byFirstCopy(answer?.version)
    const step = index === undefined ? undefined : this.#steps[index]
    if (step === undefined || index === undefined) {
      this.#lose('shown and gone', `${wish.name} saw the version ${answer?.version}`)
      return
    }
    if (answer?.view !== undefined && !this.#isSame(answer.view, step.view, wish.name))
      this.#lose('shown otherwise', `${wish.name} saw ${JSON.stringify(answer.view)} instead of ${JSON.stringify(step.view)}`)
    for (const other of this.#attempts) {
      const written = other.told === 'done' && other.ended < begun ? this.#byVersion.get(other.answer?.version ?? '') : undefined
      if (written !== undefined && written > index) this.#lose('a read went back', `${wish.name} did not see ${other.wish.name}`)
    }
  }

  #checkRefused(): void {
    const refused = new Map<string, Wish>()
    for (const { wish } of this.#attempts) refused.set(wish.name, wish)
    for (const { wish, told } of this.#attempts) if (told !== 'none') refused.delete(wish.name)
    for (const { wish, counted } of this.#steps)
      if (wish !== undefined && refused.has(wish.name)) this.#find('refused and yet there', `${wish.kind} ${wish.name} at ${counted.at}`)
  }

  #checkConditions(): void {
    for (const [index, { wish, counted }] of this.#steps.entries()) {
      if (wish?.expect === undefined || index === 0 || wish.kind === 'fork' || wish.kind === 'create') continue
      const { version } = this.#steps[index - 1] as Step
      if (version !== wish.expect)
        this.#lose('a condition did not hold', `${wish.name} at ${counted.at} expected ${wish.expect}, not ${version}`)
    }
  }

  #checkShownNow(): void {
    const last = this.#steps.at(-1)
    const { shown } = this.#found
    if (last?.status !== 'live' || shown === undefined) {
      if (last?.status === 'live') this.#find('not shown', 'It is live, and cannot be read.')
      if (shown !== undefined && last?.status === 'deleted') this.#find('shown again', 'It is deleted.')
      else if (shown !== undefined) this.#lose('shown from nowhere', 'The record that began it is not there.')
      return
    }
    if (shown.version !== last.version) this.#lose('another version', `${shown.version} instead of ${last.version}`)
    if (shown.view.entries === undefined && last.view.entries?.length !== 0)
      this.#find('entries not shown', `${JSON.stringify(last.view.entries)} can be read, and are refused`)
    if (!this.#isSame(shown.view, last.view, 'the last look'))
      this.#lose('another view', `${JSON.stringify(shown.view)} instead of ${JSON.stringify(last.view)}`)
    if (!isDeepStrictEqual(shown.archives, last.archives))
      this.#lose('other archives', `${JSON.stringify(shown.archives)} instead of ${JSON.stringify(last.archives)}`)
  }

  /**
   * Whether a session shows what the naive one does. If it has lost records and has no entry that can be read, it refuses to list its entries. That
   * costs nothing else of it.
   */
  #isSame(view: View, naive: View, reader: string): boolean {
    if (view.entries !== undefined) return isDeepStrictEqual(view, naive)
    this.#lose('entries refused', `to ${reader}`)
    return isDeepStrictEqual({ ...view, entries: [] }, naive)
  }

  /** Whoever has died with a task: another worker has taken it by now. A session that has lost its name has none. */
  checkWorked(): void {
    const { archives } = this.#found.shown ?? {}
    if (archives !== undefined && archives.pending.length > 0) this.#lose('left undone', `the archives ${archives.pending.join(', ')}`)
  }

  /** Only what was deleted is purged. */
  #checkPurged(): void {
    if (this.#found.kept === 0 || this.#steps.length > 0) return
    const was = this.#attempts.some(({ told }) => told === 'done')
    const deleted = this.#attempts.some(({ wish, told }) => wish.kind === 'delete' && told !== 'none')
    if (was && !deleted) this.#lose('purged', 'Nobody had deleted it.')
  }

  #isPurged(version = ''): boolean {
    return Number.parseInt(version, 10) <= this.#found.kept
  }

  #stepOf(version = ''): Step | undefined {
    return this.#steps[this.#byVersion.get(version) ?? -1]
  }

  #lose(what: string, detail: string): void {
    this.gone.push({ what, detail: `${this.#id}: ${detail}` })
  }

  #find(what: string, detail: string): void {
    this.findings.push({ what, detail: `${this.#id}: ${detail}` })
  }
}

/** Whether the head is where a message or a snapshot is. */
function isAt({ view, pathTo }: Step, target: string): boolean {
  const length = view.snapshots.find(([name]) => name === target)?.[1]
  return view.messages.at(-1)?.id === target || view.messages.length === (length ?? pathTo(target).length)
}
