/**
 * Every line of one journal: checksums, the chain of records, checkpoints, the ends of segments, who the journal says it is, and whether each
 * message follows one that is there. Reads one piece of a segment at a time and changes nothing.
 */
import type { Engine, Journal } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'
import { history, withoutOpener } from '../journal/history.ts'
import { Records } from '../journal/records.ts'
import { Scan } from '../journal/scan.ts'
import { isRest } from '../record/damaged-line.ts'
import { type Counted, JournalFold } from '../record/fold.ts'
import type { Line } from '../record/line.ts'
import { isEncrypted } from '../record/line-cipher.ts'
import { type Address, isWrittenTwice, type JournalRecord, type JsonObject } from '../record/record.ts'
import { apply } from '../session/apply.ts'
import type { AcknowledgedDamage, DamageAcknowledged, MessageErased, MessagesAppended, SessionCreated } from '../session/records.ts'
import { sessionReducer } from '../session/reducer.ts'
import { INITIAL, type SessionState } from '../session/state.ts'
import { type FindingPlace, isDamage, type Problem } from './findings.ts'
import { type Carried, Interval, isCarried, type Spoiled, type Witness } from './interval.ts'

interface Checkpoint {
  readonly record: JournalRecord
  readonly crc: string
  readonly at: number
  readonly length: number
}

/** A message that does not follow the one written before it: whether the one that it names is there has to be looked up. */
interface Branching {
  readonly parent: Address
  readonly place: FindingPlace
}

export class LineCheck {
  readonly #engine: Engine
  readonly #journal: Journal
  readonly #encrypted: boolean
  readonly #records: Records
  /** The state that the journal loads to; undefined if it cannot be loaded. */
  readonly #loaded: SessionState | undefined
  #fold = new JournalFold(0)
  #interval = new Interval(INITIAL, '')
  #checkpoint: Checkpoint | undefined
  /** The interval before the checkpoint of this segment, until all lines were met that the segment carries. */
  #before: { readonly interval: Interval; readonly witness: Witness; readonly complete: boolean } | undefined
  /** Lines that were met only where they are carried, since the last checkpoint. */
  #lost: Carried['lost'] = []
  /** What is damage, unless a later segment carries what stood there. */
  #doubts: (Problem & { readonly spoiled: Spoiled })[] = []
  /** The message that was written last. */
  #tip: Address | null = null
  #branching: Branching[] = []
  /** First position that the journal still has. */
  #first = 0
  #misplaced = false
  readonly #acknowledged: AcknowledgedDamage[] = []
  /** Of lines that were written over, the checksum that they had before, by the one that they have. */
  readonly #formerly = new Map<string, string>()

  /** `encrypted`: its records cannot be decrypted, so only their lines are verified. */
  constructor(engine: Engine, journal: Journal, loaded: SessionState | undefined, encrypted: boolean) {
    this.#engine = engine
    this.#encrypted = encrypted
    this.#journal = journal
    this.#records = new Records(journal)
    this.#loaded = loaded
  }

  /** Damage that somebody has taken note of: complete once the run is. */
  get acknowledged(): readonly AcknowledgedDamage[] {
    return this.#acknowledged
  }

  async *run(): AsyncGenerator<Problem> {
    if (this.#loaded === undefined || this.#loaded.erased > 0) await this.#learnErasures()
    let segments = await this.#journal.segments()
    this.#first = segments[0] ?? 0
    for (let i = 0; i < segments.length; i++) {
      const segment = segments[i] as number
      const successor = segments[i + 1]
      try {
        yield* this.#enter(segment, successor)
        const read = yield* this.#segment(segment)
        if (read !== undefined) yield* this.#leave(read, successor)
        else {
          // It was purged while it was looked at: what is left begins with a checkpoint.
          segments = (await this.#journal.segments()).filter((first) => first > segment)
          yield* this.#begin(segments[0] ?? 0)
          i = -1
        }
      } catch (error) {
        if (!(error instanceof HoldfastError) || error.code !== 'UNREADABLE') throw error
        yield { kind: 'unreadable', place: { segment }, detail: error.message }
        yield* this.#forget()
      }
    }
    yield* this.#doubts
    yield* this.#interval.settle(undefined, this.#fold.ready ? undefined : this.#fold.segment)
  }

  /** Those who wrote behind a line that was written over since know it by the checksum that it had. */
  async #learnErasures(): Promise<void> {
    for await (const { verdict } of history(this.#journal, { barrier: false, encrypted: this.#encrypted })) {
      if (verdict.kind !== 'counted' || verdict.record.type !== 'message.erased') continue
      for (const { old, new: fresh } of (verdict.record as unknown as MessageErased).lines) this.#formerly.set(fresh, old)
    }
  }

  #asWritten(counted: Counted): Counted {
    let { crc } = counted
    for (let before = this.#formerly.get(crc); before !== undefined; before = this.#formerly.get(crc)) {
      this.#formerly.delete(crc)
      crc = before
    }
    return { ...counted, crc }
  }

  *#enter(segment: number, successor: number | undefined): Generator<Problem> {
    this.#checkpoint = undefined
    if (segment !== this.#first) return this.#fold.enter(segment, successor)
    this.#fold = new JournalFold(segment, successor)
    if (segment === 0) return
    yield* this.#forget()
    if (!this.#mayBegin(segment))
      yield { kind: 'missing-segment', place: { segment, offset: 0, length: 0 }, detail: 'What stood before this one is not there.' }
  }

  /** From here on nothing is known of what stands before; what was found of it is told. */
  *#forget(): Generator<Problem> {
    yield* this.#settle()
    yield* this.#interval.settle()
    this.#interval = new Interval(undefined, undefined)
    this.#tip = null
  }

  *#begin(segment: number): Generator<Problem> {
    this.#first = segment
    yield* this.#forget()
  }

  /** Whether nothing that must be kept stood before a segment: it was purged, or belonged to an earlier incarnation. */
  #mayBegin(segment: number): boolean {
    return this.#loaded === undefined || sessionReducer.mayStartAt(this.#loaded, segment)
  }

  /** Judges all lines of a segment. Returns how far it was read; undefined if the segment is gone. */
  async *#segment(segment: number): AsyncGenerator<Problem, Scan | undefined> {
    const scan = new Scan(this.#journal, segment)
    for await (const { lines } of scan) {
      for (const line of lines) yield* this.#line(line)
      yield* this.#checkBranching()
    }
    return scan.isGone ? undefined : scan
  }

  /** Compares the end of a segment with where the next one begins. */
  *#leave({ next, end }: Scan, successor: number | undefined): Generator<Problem> {
    yield* this.#settle()
    const { segment, seal, fresh, ready } = this.#fold
    if (successor === undefined && !ready) yield { kind: 'unfinished-roll', place: { segment, offset: 0, length: end - segment } }
    if (seal !== undefined) {
      if (successor === undefined || seal.next >= successor) return
      // Of what a purge was removing when the power went, some may be there again. Of a journal that cannot be loaded nobody can tell, so it is told.
      if (this.#loaded !== undefined && this.#mayBegin(successor)) return yield* this.#begin(successor)
      yield { kind: 'missing-segment', place: { segment, offset: seal.next - segment, length: successor - seal.next } }
      yield* this.#forget()
    } else if (successor === undefined || end >= successor) {
      // Half a line: of a writer that died or is at work, or whose newline is gone.
      if (next < Math.min(end, successor ?? end)) this.#interval.spoil({ segment, at: next, length: end - next, as: 'torn' })
    } else if (fresh && segment === this.#first && this.#mayBegin(successor)) {
      yield { kind: 'late-segment', place: { segment, offset: 0, length: end - segment } }
      yield* this.#begin(successor)
    } else this.#interval.spoil({ segment, at: next, length: successor - next, as: 'missing' })
  }

  *#line(line: Line): Generator<Problem> {
    const { root, segment } = this.#fold
    const verdict = this.#fold.judge(this.#encrypted ? withoutOpener(line) : line)
    if (verdict.kind === 'checkpoint') this.#checkpoint = { ...verdict, at: line.at, length: line.bytes.length }
    const placed = verdict.kind === 'counted' && !verdict.carried
    if (this.#fold.root !== undefined && this.#fold.root !== root) this.#takeRoot(!placed)
    if (verdict.kind === 'damage') {
      const [rest, elsewhere] = [isRest(line), isOfElsewhere(line)]
      const piece = verdict.as === 'rotten' && (rest || elsewhere)
      this.#interval.spoil({ ...verdict, segment, as: rest ? 'torn' : verdict.as }, { elsewhere, piece })
    } else if (verdict.kind === 'counted' && verdict.carried) this.#lost = [...this.#lost, { at: verdict.at, prev: verdict.record.prev }]
    else if (verdict.kind === 'nothing' && verdict.why === 'repeated') this.#interval.repeat(line.at)
    if (!placed) return
    yield* this.#settle()
    yield* this.#count(this.#formerly.size === 0 ? verdict : this.#asWritten(verdict))
  }

  /** From here on the checkpoint tells the state. `complete`: all lines that it carries stand behind it. */
  #takeRoot(complete: boolean): void {
    const { record, crc, at, length } = this.#checkpoint as Checkpoint
    const witness: Witness = {
      segment: this.#fold.segment,
      at,
      length,
      prev: record.prev,
      state: isEncrypted(record) ? undefined : sessionReducer.restore(record.state as JsonObject),
    }
    this.#before = { interval: this.#interval, witness, complete }
    this.#interval = this.#interval.next(witness, crc, complete)
  }

  /** Reports the interval before, once this segment has shown everything about it. */
  *#settle(): Generator<Problem> {
    const { segment, carriedFrom } = this.#fold
    const carried: Carried = { from: this.#before?.complete === true ? carriedFrom : segment, lost: this.#lost }
    const doubts = this.#doubts.splice(0)
    if (this.#before === undefined) {
      yield* this.#tell(doubts, carried)
      return
    }
    const { interval, witness } = this.#before
    this.#before = undefined
    yield* this.#tell([...doubts, ...interval.settle(witness)], carried)
    this.#lost = []
    const { state, at, length } = witness
    if (state !== undefined && state.space !== null && state.id !== null)
      yield* this.#checkIdentity(state.space, state.id, { segment, offset: at - segment, length })
  }

  /** Tells what is certain. What looks lost may yet be found to be carried, by this segment or a later one. */
  *#tell(problems: Iterable<Problem & { readonly spoiled?: Spoiled }>, carried: Carried): Generator<Problem> {
    for (const problem of problems) {
      const { kind, spoiled } = problem
      if (spoiled !== undefined && isCarried(spoiled, carried)) yield { ...problem, kind: 'carried' }
      else if (spoiled !== undefined && spoiled.as !== 'rotten' && isDamage(kind)) this.#doubts.push({ ...problem, spoiled })
      else yield problem
    }
  }

  *#count(counted: Counted): Generator<Problem> {
    const { record, at, end, crc } = counted
    const { segment } = this.#fold
    const place = { segment, offset: at - segment, length: end - at }
    if (!this.#interval.follow(record.prev, crc, isWrittenTwice(record) ? { at, end: end - 1 } : undefined))
      yield {
        kind: 'missing-record',
        place: { ...place, length: 0 },
        detail: `The record here follows one with the checksum ${record.prev}.`,
      }
    if (isEncrypted(record)) this.#interval.state = undefined
    if (this.#interval.state !== undefined) this.#interval.state = apply(this.#interval.state, counted)
    if (record.type === 'session.created') {
      const { space, session } = record as unknown as SessionCreated
      yield* this.#checkIdentity(space, session, place)
    } else if (record.type === 'damage.acknowledged') {
      this.#acknowledged.push(...((record as unknown as DamageAcknowledged).findings ?? []))
    } else if (record.type === 'messages.appended' && !this.#encrypted) {
      const { parent } = record
      const follows = parent === undefined || (parent[0] === this.#tip?.[0] && parent[1] === this.#tip[1])
      if (!follows) this.#branching.push({ parent, place })
      this.#tip = [at, (record as unknown as MessagesAppended).messages.length - 1]
    }
  }

  *#checkIdentity(space: string, session: string, place: FindingPlace): Generator<Problem> {
    const [here, there] = [this.#journal.name, this.#engine.name(space, session)]
    if (this.#misplaced || here === there) return
    this.#misplaced = true
    yield { kind: 'wrong-identity', place, detail: `It is in ${here}, and belongs to "${session}" in the space "${space}", in ${there}.` }
  }

  async *#checkBranching(): AsyncGenerator<Problem> {
    for (const { parent, place } of this.#branching.splice(0)) {
      const [at, index] = parent
      // What a half-done purge has left may follow what it has removed.
      if (at < this.#first && this.#mayBegin(this.#first)) continue
      const messages = await this.#messagesAt(at)
      if (messages !== undefined && index >= messages.length) yield { kind: 'dangling-parent', place, follows: at }
    }
  }

  /** The messages of the record at a position; none if there is no such record, undefined if nobody can tell. */
  async #messagesAt(at: number): Promise<readonly unknown[] | undefined> {
    try {
      const found = await this.#records.at(at)
      return found?.record.type === 'messages.appended' ? (found.record as unknown as MessagesAppended).messages : []
    } catch (error) {
      if (error instanceof HoldfastError && error.code === 'UNREADABLE') return undefined
      throw error
    }
  }
}

/**
 * Whether the end of a line says that the line never was a record where it stands: pieces of several lines, which lost a race in the middle of
 * a write.
 */
function isOfElsewhere({ at, bytes }: Line): boolean {
  const end = Buffer.from(bytes.subarray(-64)).toString('latin1')
  // A checkpoint says no position.
  const said = /(?:(\d+)|"),"crc":"[0-9a-f]{8}"\}$/.exec(end)
  return said !== null && Number(said[1] ?? -1) !== at
}
