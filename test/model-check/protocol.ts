/**
 * The protocol of docs/format.md as steps of processes: between any two, others may do theirs, and the process may die. Every step returns all states
 * that it can lead to. What must never be is told by `wrong`.
 *
 *   append, delete, seal:  read → write → sync                        a lost race goes back to read
 *   show:                  read → sync
 *   a sealed end:          roll: sync the old segment → make the next → its checkpoint → sync it → read
 *   a failed sync:         the outcome is unknown → seal, without a sync → roll, carrying what may be lost
 *
 * What nobody else can tell apart is one step. Where a line stands is decided when it is written, so looking at it comes with the write; and to be told
 * later, or to sync a name later, promises less and not more, so both come with the sync.
 */
import { append, type Bugs, DELETE, type Folded, fold, line, powerCuts, type Segment, sync } from './journal.ts'

/** Bugs that can be planted in what processes do. */
export interface Mutation extends Bugs {
  readonly ackBeforeSync?: boolean
  readonly noBarrier?: boolean
  readonly noNameSync?: boolean
  readonly noCarry?: boolean
  readonly believeSecondSync?: boolean
  readonly failedSyncIsDefinite?: boolean
  readonly staleDecision?: boolean
  readonly truncateWhenFull?: boolean
  readonly lateWritersAreNotRefused?: boolean
  readonly checkpointOfAll?: boolean
}

export interface Wish {
  readonly kind: 'append' | 'delete' | 'seal' | 'show'
  readonly id: string
  /** It is tried more than once. */
  readonly shared?: boolean
}

type Step = 'read' | 'write' | 'sync' | 'roll' | 'make' | 'checkpoint' | 'sync next' | 'done' | 'dead'

interface Process {
  step: Step
  /** Which of its wishes it is at. */
  wish: number
  /** What it read last: how much counted, the segment, its end. */
  order: readonly string[]
  segment: number
  end: number
  tries: number
  /** It has to carry: from where. -1 if not. */
  carries: number
  /** The wish that it carries for was answered. */
  over: boolean
  /** Of each segment that it has opened: how many failed syncs it knows of, and how many lines it has synced itself. */
  seen: number[]
  durable: number[]
}

export interface State {
  segments: Segment[]
  processes: Process[]
  /** What callers were told of an operation: only the best news is kept of one that several tried. */
  told: Record<string, 'ok' | 'refused' | 'unknown'>
  /** The longest order that anybody was shown. */
  shown: readonly string[]
  /** Shown or acknowledged by one who opened the file after a sync of another had failed, before that one had carried: a limit that docs/format.md states. */
  excused: readonly string[]
  /** Faults that may still happen. */
  crashes: number
  faults: number
}

const MOST_TRIES = 1

export function initial(processes: number, { crashes, faults }: { readonly crashes: number; readonly faults: number }): State {
  const process = (): Process => ({
    step: 'read',
    wish: 0,
    order: [],
    segment: 0,
    end: 0,
    tries: 0,
    carries: -1,
    over: false,
    seen: [],
    durable: [],
  })
  return {
    segments: [{ first: 0, lines: [], synced: 0, lost: [], errors: 0, named: false }],
    processes: Array.from({ length: processes }, process),
    ...{ told: {}, shown: [], excused: [], crashes, faults },
  }
}

/** Everything that can happen next, by whichever process. */
export function* next(state: State, scripts: readonly (readonly Wish[])[], bugs: Mutation): Generator<State> {
  for (const [number, { step }] of state.processes.entries()) {
    if (step === 'done' || step === 'dead') continue
    yield* stepOf(state, number, scripts[number] as readonly Wish[], bugs)
    if (state.crashes > 0) yield changed(state, (after) => die(after, number, scripts[number] as readonly Wish[]))
  }
}

function die(after: State, number: number, script: readonly Wish[]): void {
  const process = at(after, number)
  after.crashes--
  const wish = script[process.wish]
  if (wish !== undefined && wish.kind !== 'show' && process.step !== 'read') tell(after, wish, 'unknown')
  process.step = 'dead'
}

function* stepOf(state: State, number: number, script: readonly Wish[], bugs: Mutation): Generator<State> {
  const { step, wish: place } = at(state, number)
  const wish = script[place]
  if (wish === undefined) {
    return yield changed(state, (after) => {
      at(after, number).step = 'done'
    })
  }
  if (step === 'read') yield changed(state, (after) => read(after, number, wish, bugs))
  else if (step === 'write') yield* write(state, number, wish, bugs)
  else if (step === 'sync') yield* syncing(state, number, wish, bugs)
  else yield* rolling(state, number, bugs)
}

function read(after: State, number: number, wish: Wish, bugs: Mutation): void {
  const process = at(after, number)
  // Another one may have carried it meanwhile.
  if (process.carries >= 0 && isCarried(after, process, bugs)) {
    endCarrying(process)
    return
  }
  const folded = fold(after.segments, bugs)
  const isStale = bugs.staleDecision === true && process.tries > 0
  if (!isStale) process.order = folded.order
  process.segment = folded.last
  process.end = lastOf(after, folded).lines.length
  for (let i = 0; i <= folded.last; i++) process.seen[i] ??= (after.segments[i] as Segment).errors
  if ((wish.kind !== 'show' || process.carries >= 0) && (folded.seal !== undefined || !folded.rooted)) process.step = 'roll'
  else if (process.carries >= 0) process.step = 'write'
  else if (wish.kind === 'show' && bugs.noBarrier === true) answer(after, number, wish, bugs)
  // A refusal and a duplicate rest on what others wrote: it is synced first.
  else if (wish.kind === 'show' || process.order.includes(wish.id) || isRefused(process, wish, bugs)) process.step = 'sync'
  else process.step = 'write'
}

function isRefused({ order }: Process, wish: Wish, bugs: Mutation): boolean {
  return wish.kind === 'append' && order.includes(DELETE) && !order.includes(wish.id) && bugs.lateWritersAreNotRefused !== true
}

function* write(state: State, number: number, wish: Wish, bugs: Mutation): Generator<State> {
  const { carries } = at(state, number)
  const made = (segment: Segment, end: number) => {
    const pos = segment.first + end
    return carries >= 0 || wish.kind === 'seal' ? line('seal', { pos, from: carries }) : line('record', { id: wish.id, pos })
  }
  yield changed(state, (after) => {
    const { segment, end } = at(after, number)
    append(after.segments[segment] as Segment, made(after.segments[segment] as Segment, end), bugs)
    look(after, number, wish, bugs)
  })
  if (state.faults === 0 || carries >= 0) return
  // The disk is full: all but the newline was written, and the caller is told that nothing happened.
  yield changed(state, (after) => {
    after.faults--
    const process = at(after, number)
    const segment = after.segments[process.segment] as Segment
    append(segment, { ...made(segment, process.end), kind: wish.kind === 'seal' ? 'torn' : 'unended' }, bugs)
    if (bugs.truncateWhenFull === true) {
      segment.lines = segment.lines.slice(0, process.end)
      segment.synced = Math.min(segment.synced, process.end)
    }
    tell(after, wish, 'refused')
    goOn(process)
  })
  // The process dies in the middle of it.
  if (state.crashes === 0) return
  yield changed(state, (after) => {
    append(after.segments[at(after, number).segment] as Segment, line('torn'), bugs)
    tell(after, wish, 'unknown')
    after.crashes--
    at(after, number).step = 'dead'
  })
}

/** Whether it stands where it must; otherwise somebody was first. */
function look(after: State, number: number, wish: Wish, bugs: Mutation): void {
  const process = at(after, number)
  const segment = after.segments[process.segment] as Segment
  const there = segment.lines[process.end]
  const isSeal = process.carries >= 0 || wish.kind === 'seal'
  const stands =
    bugs.noStamp === true ||
    (isSeal ? there?.kind === 'seal' && there.from === process.carries : there?.kind === 'record' && there.id === wish.id)
  // A successor that somebody made meanwhile ends the segment.
  const isLast = process.segment === after.segments.length - 1
  if (stands && isLast && isInside(after, number, bugs)) {
    if (bugs.ackBeforeSync === true && process.carries < 0) answer(after, number, wish, bugs)
    else process.step = process.carries >= 0 ? 'roll' : 'sync'
  } else if (process.tries >= MOST_TRIES) {
    if (wish.kind !== 'show') tell(after, wish, stands ? 'unknown' : 'refused')
    goOn(process)
  } else {
    process.tries++
    process.step = 'read'
  }
}

/** Not behind a seal. */
function isInside(after: State, number: number, bugs: Mutation): boolean {
  const { segment: place, end } = at(after, number)
  const { lines, first } = after.segments[place] as Segment
  const seal = lines.findIndex(({ kind, pos }, index) => kind === 'seal' && (pos === first + index || bugs.noStamp === true))
  return seal === -1 || seal >= end
}

/** What was read of a segment is synced before anything is told, also where it was not the last one. */
function* syncing(state: State, number: number, wish: Wish, bugs: Mutation): Generator<State> {
  const { segment: place, seen } = at(state, number)
  const isTold = state.segments.some(({ errors }, i) => i <= place && errors > (seen[i] ?? errors))
  if (!isTold)
    yield changed(state, (after) => {
      for (let i = 0; i <= place; i++) syncWell(after, number, i)
      if (bugs.noNameSync !== true) nameAll(after, number)
      answer(after, number, wish, bugs)
    })
  if (state.faults === 0 && !isTold) return
  yield changed(state, (after) => {
    const process = at(after, number)
    const from = failSync(after, number, !isTold)
    if (bugs.believeSecondSync === true) return
    if (wish.kind !== 'show') tell(after, wish, bugs.failedSyncIsDefinite === true ? 'refused' : 'unknown')
    if (bugs.noCarry === true) return goOn(process)
    process.carries = from
    process.over = true
    process.tries = 0
    process.step = 'read'
  })
}

function syncWell(after: State, number: number, place: number): void {
  const segment = after.segments[place] as Segment
  sync(segment, false)
  at(after, number).durable[place] = segment.lines.length
}

/** `fresh`: the disk fails now, at the last segment; otherwise it has, and this one is told of it. Tells from where on lines may be lost, as far as this one knows. */
function failSync(after: State, number: number, fresh: boolean): number {
  const { segment: place, seen, durable } = at(after, number)
  if (fresh) {
    after.faults--
    sync(after.segments[place] as Segment, true)
  }
  let from = Number.POSITIVE_INFINITY
  for (let i = 0; i <= place; i++) {
    const { first, errors } = after.segments[i] as Segment
    if (errors > (seen[i] ?? errors)) from = Math.min(from, first + (durable[i] ?? 0))
    seen[i] = errors
  }
  return from
}

/** The names that lead to a segment. */
function nameAll({ segments, processes }: State, number: number): void {
  for (const segment of segments.slice(0, (processes[number] as Process).segment + 1)) segment.named = true
}

function answer(after: State, number: number, wish: Wish, bugs: Mutation): void {
  const process = at(after, number)
  const isThere = process.order.includes(wish.id)
  // Its own record is in what it wrote, and not in what it had read.
  const order = wish.kind === 'show' || isThere ? process.order : [...process.order, wish.id]
  const excused = order.filter((id) => isExcused(after, process, id, bugs))
  if (excused.length > 0) after.excused = [...new Set([...after.excused, ...excused])].sort()
  if (wish.kind === 'show') {
    if (process.order.length > after.shown.length) after.shown = process.order
  } else {
    const refused = wish.kind === 'append' && process.order.includes(DELETE) && !isThere && bugs.lateWritersAreNotRefused !== true
    tell(after, wish, refused ? 'refused' : 'ok')
  }
  goOn(process)
}

/** It was lost by a sync that failed before this process opened the file, and whoever knows has not carried it yet, or not synced that. */
function isExcused({ segments }: State, { durable }: Process, id: string, bugs: Mutation): boolean {
  if (bugs.noCarry === true || bugs.believeSecondSync === true) return false
  const isCarried = segments.some(({ lines, synced, named }) => named && lines.slice(0, synced).some(({ carried }) => carried.includes(id)))
  return segments.some(({ lines, lost, errors }, place) => {
    const index = lines.findIndex((one) => one.kind === 'record' && one.id === id)
    return errors > 0 && lost.includes(index) && !isCarried && index < (durable[place] ?? 0)
  })
}

function* rolling(state: State, number: number, bugs: Mutation): Generator<State> {
  const { step, carries } = at(state, number)
  if (step === 'roll') {
    yield changed(state, (after) => {
      const process = at(after, number)
      const folded = fold(after.segments, bugs)
      if (folded.rooted && folded.seal === undefined) {
        process.step = 'read'
        return
      }
      process.segment = folded.last
      process.step = folded.rooted ? 'make' : 'checkpoint'
      if (!folded.rooted) return
      const segment = lastOf(after, folded)
      if (segment.errors <= (process.seen[folded.last] ?? segment.errors)) return syncWell(after, number, folded.last)
      const from = failSync(after, number, false)
      process.carries = process.carries < 0 ? from : Math.min(process.carries, from)
    })
    return
  }
  if (step === 'make') {
    yield changed(state, (after) => {
      const process = at(after, number)
      const { seal, last } = fold(after.segments, bugs)
      // Somebody else was first.
      if (last === process.segment && seal !== undefined) {
        after.segments.push({ first: seal.at + 1, lines: [], synced: 0, lost: [], errors: 0, named: false })
      }
      process.segment = after.segments.length - 1
      process.seen[process.segment] ??= 0
      process.step = 'checkpoint'
    })
    return
  }
  if (step === 'checkpoint') {
    const made = (after: State) => {
      const { segment } = at(after, number)
      const before = after.segments.slice(0, segment)
      const { order, seal } = fold(before, bugs)
      const from = Math.min(...[seal?.from ?? -1, carries].filter((one) => one >= 0), Number.POSITIVE_INFINITY)
      const state = bugs.checkpointOfAll === true ? everything(before) : order
      return line('checkpoint', { state, carried: recordsFrom(before, from, bugs) })
    }
    yield changed(state, (after) => {
      const process = at(after, number)
      const segment = after.segments[process.segment] as Segment
      const mine = made(after)
      const isThere = segment.lines.some(({ kind, carried }) => kind === 'checkpoint' && mine.carried.every((one) => carried.includes(one)))
      if (!isThere) append(segment, mine, bugs)
      process.step = 'sync next'
    })
    if (state.crashes > 0)
      yield changed(state, (after) => {
        append(after.segments[at(after, number).segment] as Segment, line('torn'), bugs)
        after.crashes--
        at(after, number).step = 'dead'
      })
    return
  }
  yield changed(state, (after) => {
    const process = at(after, number)
    syncWell(after, number, process.segment)
    if (bugs.noNameSync !== true) nameAll(after, number)
    // Who knew of no failure may have been first, and placed records: what was carried came too late, and goes into the segment after.
    process.step = 'read'
    if (isCarried(after, process, bugs)) endCarrying(process)
  })
}

/** The records that counted from a position on, in their order. */
function recordsFrom(segments: readonly Segment[], from: number, bugs: Mutation): string[] {
  const { bodies } = fold(segments, bugs)
  const found = segments.flatMap(({ lines, first }) =>
    lines.flatMap(({ kind, id, pos, carried }, index) => {
      // What a segment carries itself was as new as the segment.
      if (kind === 'checkpoint') return first >= from ? carried : []
      return kind === 'record' && pos === first + index && pos >= from && bodies.has(id) ? [id] : []
    }),
  )
  return [...new Set(found)]
}

/** Whether everything that this one has to carry stands in a later segment. */
function isCarried({ segments }: State, { carries }: Process, bugs: Mutation): boolean {
  if (carries < 0) return true
  const carried = new Set(segments.flatMap(carriedIn))
  return segments.length > 1 && recordsFrom(segments.slice(0, 1), carries, bugs).every((id) => carried.has(id))
}

function endCarrying(process: Process): void {
  process.carries = -1
  if (process.over) goOn(process)
}

/** What a segment carries, up to the first record that was placed in it. */
function carriedIn({ lines, first }: Segment): readonly string[] {
  const placed = lines.findIndex(({ pos }, index) => pos === first + index)
  return lines.slice(0, placed === -1 ? lines.length : placed).flatMap(({ carried }) => carried)
}

/** A helper that takes what stands behind the seal for part of the journal. */
function everything(segments: readonly Segment[]): string[] {
  return segments.flatMap(({ lines }) => lines.filter(({ kind }) => kind === 'record').map(({ id }) => id))
}

/** What must never be: told by what callers know and what the disk holds, now and after a power cut at this moment. */
export function wrong(state: State, bugs: Mutation): string | undefined {
  const now = judge(state, fold(state.segments, bugs))
  if (now !== undefined) return now
  for (const left of powerCuts(state.segments)) {
    const found = judge(state, fold(left, bugs))
    if (found !== undefined) return `after a power cut ${found}`
  }
  return undefined
}

function judge({ told, shown, excused }: State, { order, bodies }: Folded): string | undefined {
  if (new Set(order).size < order.length) return `an operation counts twice: ${order}`
  for (const [id, outcome] of Object.entries(told)) {
    if (excused.includes(id)) continue
    if (outcome === 'ok' && (!order.includes(id) || !bodies.has(id))) return `${id} was acknowledged and is gone`
    if (outcome === 'refused' && order.includes(id)) return `${id} was refused and counts`
  }
  // Where one is excused, what stands behind it moves.
  const missing = shown.some((id) => excused.includes(id)) ? undefined : shown.find((id, index) => order[index] !== id || !bodies.has(id))
  if (missing !== undefined) return `${missing} was shown, and is gone or elsewhere: ${shown} became ${order}`
  const end = order.indexOf(DELETE)
  return end === -1 || end === order.length - 1 ? undefined : `${order.slice(end + 1)} counts behind the delete`
}

function lastOf(state: State, { last }: Folded): Segment {
  return state.segments[last] as Segment
}

function at(state: State, number: number): Process {
  return state.processes[number] as Process
}

function goOn(process: Process): void {
  process.wish++
  process.tries = 0
  process.carries = -1
  process.over = false
  process.step = 'read'
}

const RANK = { refused: 0, unknown: 1, ok: 2 }

/** Several may have tried the same operation: it happened if one was told so, and one refusal says nothing of the others. */
function tell(after: State, { id, kind, shared }: Wish, told: 'ok' | 'refused' | 'unknown'): void {
  if (kind === 'seal') return
  const outcome = shared === true && told === 'refused' ? 'unknown' : told
  const known = after.told[id]
  if (known === undefined || RANK[outcome] > RANK[known]) after.told[id] = outcome
}

/** The state after a step; the one before stays as it was. */
function changed(state: State, change: (after: State) => void): State {
  const after: State = {
    ...state,
    segments: state.segments.map((segment) => ({ ...segment, lines: [...segment.lines], lost: [...segment.lost] })),
    processes: state.processes.map((process) => ({ ...process, seen: [...process.seen], durable: [...process.durable] })),
    told: { ...state.told },
  }
  change(after)
  return after
}
