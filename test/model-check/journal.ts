/**
 * A journal on a disk, as small as it can be and still go wrong: a line is one place long, and a segment is a list of lines of which a beginning is durable.
 * What counts, and what a power cut leaves, is told here; `protocol.ts` tells what processes do to it.
 */

export interface Line {
  /** `record`, `seal`, `checkpoint`; `torn`: a part of a line; `whole but for its newline`: a line that the next newline would complete. */
  readonly kind: 'record' | 'seal' | 'checkpoint' | 'torn' | 'unended'
  /** Of a record: the operation, which has the same name whoever tries it. */
  readonly id: string
  /** Where it must stand to count. */
  readonly pos: number
  /** Of a checkpoint: what counted before it, and the records that it carries along. */
  readonly state: readonly string[]
  readonly carried: readonly string[]
  /** Of a seal behind a failed sync: from where on the next segment carries. */
  readonly from: number
}

export interface Segment {
  readonly first: number
  lines: Line[]
  /** So many lines are on the disk, but for those that a failed sync has lost. */
  synced: number
  lost: number[]
  /** How often a sync has failed: whoever had the file open then is told once, at its next sync; who opens it later never is. */
  errors: number
  /** Its name is durable. */
  named: boolean
}

export interface Bugs {
  /** Lines count wherever they stand. */
  readonly noStamp?: boolean
  /** Something looks at lines that do not stand where they say. */
  readonly misplacedMatter?: boolean
  /** The lead-in is a newline, which completes what lacked only that. */
  readonly bareNewline?: boolean
}

export function line(kind: Line['kind'], over: Partial<Line> = {}): Line {
  return { kind, id: '', pos: -1, state: [], carried: [], from: -1, ...over }
}

export interface Folded {
  /** What counts, in order. */
  readonly order: readonly string[]
  /** What of it can be read. */
  readonly bodies: ReadonlySet<string>
  /** The last segment, by its number in the list, and its seal, if it has one. */
  readonly last: number
  readonly seal: { readonly at: number; readonly from: number } | undefined
  /** The last segment begins as it must. */
  readonly rooted: boolean
}

export const DELETE = 'delete'

/** Every record stands where it says, or it does not count. The state is that of the last checkpoint, and what came behind it. */
export function fold(segments: readonly Segment[], bugs: Bugs): Folded {
  let order: string[] = []
  const bodies = new Set<string>()
  let seal: Folded['seal']
  let rooted = true
  let last = 0
  for (const [number, segment] of segments.entries()) {
    last = number
    seal = undefined
    rooted = number === 0
    let fresh = number > 0
    for (const [index, { kind, id, pos, state, carried, from }] of segment.lines.entries()) {
      // Behind a seal nothing is in the journal.
      if (seal !== undefined) break
      if (kind === 'checkpoint') {
        if (!rooted) order = [...state]
        // What is carried counts up to the first record that was placed: several helpers may have begun the segment.
        if (!rooted || fresh) for (const one of carried) bodies.add(one)
        rooted = true
      } else if (kind === 'record' || kind === 'seal') {
        if (!rooted || (pos !== segment.first + index && bugs.noStamp !== true)) continue
        fresh = false
        if (kind === 'seal') seal = { at: segment.first + index, from }
        else {
          order.push(id)
          bodies.add(id)
        }
      }
    }
  }
  return { order, bodies, last, seal, rooted }
}

/** Appends a line to the end of a segment, wherever that is by now. */
export function append(segment: Segment, made: Line, bugs: Bugs): void {
  const last = segment.lines.at(-1)
  if (last?.kind === 'unended') segment.lines[segment.lines.length - 1] = { ...last, kind: bugs.bareNewline === true ? 'record' : 'torn' }
  // What lost a race is as good as torn, whatever it says: fewer states are to be told apart.
  const isLost = made.pos >= 0 && made.pos !== segment.first + segment.lines.length && bugs.misplacedMatter !== true
  segment.lines.push(isLost ? line('torn') : made)
}

/** Makes durable what was written, or loses it for good while it can still be read, as a failed sync does. */
export function sync(segment: Segment, fails: boolean): void {
  if (fails) {
    for (let i = segment.synced; i < segment.lines.length; i++) segment.lost.push(i)
    segment.errors++
  }
  segment.synced = segment.lines.length
}

/** What the power can leave: of each segment any length that is at least what was synced, and no segment whose name was not. */
export function* powerCuts(segments: readonly Segment[]): Generator<Segment[]> {
  yield* cutFrom(segments, 0, [])
}

function* cutFrom(segments: readonly Segment[], number: number, kept: Segment[]): Generator<Segment[]> {
  const segment = segments[number]
  if (segment === undefined) return yield kept
  // A name that is not there hides nothing that stands behind it: it is a gap.
  if (!segment.named) yield* cutFrom(segments, number + 1, kept)
  for (let length = segment.synced; length <= segment.lines.length; length++) {
    const lines = segment.lines.slice(0, length).map((one, index) => (segment.lost.includes(index) ? line('torn') : one))
    yield* cutFrom(segments, number + 1, [...kept, { ...segment, lines }])
  }
}
