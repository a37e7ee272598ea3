/**
 * Copying a store to another one, whatever their engines: the same lines at the same positions, damaged ones too, so that nothing that is
 * wrong is hidden. Safe to interrupt and to repeat, while the first store is in use: what is there already is gone over, and what is new is added.
 * What counts is then read back from both, and must have the same digest.
 */
import { createHash } from 'node:crypto'
import type { Engine, Journal } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'
import { history } from '../journal/history.ts'
import { Scan } from '../journal/scan.ts'
import { LIMITS } from '../record/limits.ts'
import { isBlank, LEAD_IN, type Line } from '../record/line.ts'
import { invalid } from '../session/check.ts'
import { partsOf, type Store } from '../store/store.ts'

export interface Copied {
  /** The journal, as both engines name it. */
  readonly name: string
  readonly status: 'copied' | 'unchanged'
  readonly lines: number
  readonly bytes: number
  /** Of all lines that count, and where they stand. */
  readonly digest: string
}

/** Journals that are copied at once: each waits for the engine most of the time. */
const SIDE_BY_SIDE = 8

/**
 * Copies every session of every space into another store, such as from files to PostgreSQL. You can repeat it: it continues where it stopped.
 *
 * @param options `signal` stops it. What was copied stays.
 * @returns What became of each journal.
 * @throws HoldfastError CONFLICT when the second store has sessions that the first does not have.
 * @throws HoldfastError DAMAGED when a copy cannot be made equal.
 * @throws HoldfastError INVALID_ARGUMENT when only one of the stores is in memory, or one is at a server.
 * @example
 * for await (const { name, status } of copyStore(store, other)) console.log(name, status)
 */
export async function* copyStore(from: Store, to: Store, options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<Copied> {
  const [source, target] = [partsOf(from).engine, partsOf(to).engine]
  const probe = source.name('space', 'id')
  if (probe !== target.name('space', 'id'))
    throw invalid('A store in memory can be copied only into another one in memory. Give two directories or databases, or two in memory.')
  let running: Promise<Copied>[] = []
  for await (const name of source.names()) {
    if (options.signal?.aborted) break
    const one = copyJournal(source, target, name)
    one.catch(() => undefined)
    running.push(one)
    if (running.length < SIDE_BY_SIDE) continue
    yield await (running[0] as Promise<Copied>)
    running = running.slice(1)
  }
  for (const one of running) yield await one
}

async function copyJournal(source: Engine, target: Engine, name: string): Promise<Copied> {
  const [from, to] = [source.journal(name), target.journal(name)]
  try {
    let [lines, bytes, end] = [0, 0, 0]
    const segments = await from.segments()
    for (const [i, segment] of segments.entries()) {
      const copied = await copySegment(from, to, segment, segments[i + 1] ?? Number.POSITIVE_INFINITY)
      lines += copied.lines
      bytes += copied.bytes
      end = copied.end
    }
    const [one, other] = [await digestOf(from, end), await digestOf(to, end)]
    if (one !== other) throw differs(name)
    return { name, status: lines > 0 ? 'copied' : 'unchanged', lines, bytes, digest: one }
  } finally {
    await Promise.all([from.close(), to.close()])
  }
}

/** Whole lines of one segment, up to where its successor begins. Tells where they end. */
async function copySegment(
  from: Journal,
  to: Journal,
  segment: number,
  successor: number,
): Promise<{ lines: number; bytes: number; end: number }> {
  const there = await to.read(segment, segment, 1)
  const last = (await to.segments()).at(-1)
  // A later one is there, so this one was copied whole; what it holds is compared afterwards.
  if (last !== undefined && last > segment) return { lines: 0, bytes: 0, end: Math.min(successor, last) }
  let end = there?.end ?? segment
  let isThere = there !== undefined
  let [lines, bytes] = [0, 0]
  let batch: Line[] = []
  let size = 0
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return
    const group = groupOf(batch, end)
    if (isThere || segment === 0) {
      const { placed, refusal } = await to.append(segment, end, group)
      if (refusal !== undefined) throw refusal
      if (placed !== group.length) throw differs(to.name)
    } else await to.roll(segment, group)
    isThere = true
    lines += batch.length
    bytes += group.length
    end += group.length
    batch = []
    size = 0
  }
  for await (const chunk of new Scan(from, segment)) {
    await from.sync(segment)
    for (const line of chunk.lines) {
      const { at, bytes: whole } = line
      if (isBlank(whole) || at >= successor || at + whole.length < end) continue
      // A copy that was killed may have ended inside of a line: the rest of it makes it whole.
      const rest = at < end ? { at: end, bytes: whole.subarray(end - at) } : line
      if (size + rest.bytes.length > LIMITS.groupTargetBytes) await flush()
      batch.push(rest)
      size += rest.bytes.length + 1
    }
  }
  await flush()
  return { lines, bytes, end }
}

/** Lines as one group that begins at a position. What is missing between them is blank. */
function groupOf(lines: readonly Line[], at: number): Buffer {
  const parts: Uint8Array[] = []
  let end = at
  for (const line of lines) {
    parts.push(blank(line.at - end), line.bytes, NEWLINE)
    end = line.at + line.bytes.length + 1
  }
  return Buffer.concat(parts)
}

const NEWLINE = Buffer.from('\n')

function blank(length: number): Uint8Array {
  if (length < LEAD_IN.length) return Buffer.alloc(Math.max(0, length), NEWLINE)
  return Buffer.concat([LEAD_IN, Buffer.alloc(length - LEAD_IN.length, NEWLINE)])
}

/** Of every line that counts and ends at a position or before it. */
async function digestOf(journal: Journal, end: number): Promise<string> {
  const hash = createHash('sha256')
  const [first = 0] = await journal.segments()
  for await (const { verdict, line } of history(journal, { from: first, encrypted: true })) {
    if (verdict.kind === 'counted' && verdict.end <= end) hash.update(`${verdict.at} `).update(line.bytes).update(NEWLINE)
  }
  return hash.digest('hex')
}

function differs(name: string): HoldfastError {
  return new HoldfastError('CONFLICT', `The journal ${name} is another one in the second store. Copy to a place of its own.`, {
    details: { reason: 'other records', journal: name },
  })
}
