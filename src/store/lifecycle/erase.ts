/**
 * Erasing a message: the bytes go, and nothing else moves.
 *
 *   1. The record: `message.erased` says which lines are written over and how. From here on nobody shows the message, and whoever finds the
 *      record can do the rest.
 *   2. The lines: of the message, of what replaced it, of summaries and memories that were made from it; copies of those lines that lost a race,
 *      or that a later segment carries, too. Each keeps its length.
 *   3. The forks: the same in every session that inherited it, and in theirs.
 *   4. The catalog, which must not keep its words.
 *   5. The record that all of this was done.
 *
 * If the process dies anywhere behind 1, whoever opens the session next goes on at 2; all of it may be done twice. Archives that were made
 * from the message begin anew without it.
 */
import { sessionCipher } from '../../encryption/session-cipher.ts'
import { KEY_SPACE } from '../../engine/names.ts'
import type { Journal } from '../../engine/port.ts'
import { HoldfastError } from '../../errors.ts'
import { type Found, Records } from '../../journal/records.ts'
import { scanLines } from '../../journal/scan.ts'
import { type ErasedLine, type ErasedPart, overwritten, type Path, partOf } from '../../record/erasure.ts'
import { decodeLine, type Line, readLine } from '../../record/line.ts'
import { isEncrypted } from '../../record/line-cipher.ts'
import type { JournalRecord, Json, JsonObject } from '../../record/record.ts'
import { isOn } from '../../session/branch.ts'
import type { Terms } from '../../session/command.ts'
import * as erasures from '../../session/erasures.ts'
import type { RecordKeys } from '../../session/record-keys.ts'
import { type CommitFinished, type MessageErased, tombstone } from '../../session/records.ts'
import { noMessage } from '../../session/refusals.ts'
import type { Archive, SessionState } from '../../session/state.ts'
import { Handle, type WriteOptions, type Written, written } from '../handle.ts'
import { type Located, type Newest, Transcript } from '../messages/transcript.ts'
import type { SessionParts } from '../parts.ts'

const NO_DIGEST = `"${'0'.repeat(32)}"`

/** What is written over in records of each type. The message itself, and everything by which somebody could try what it was. */
const IN_REPLACEMENT: readonly Path[] = [['message'], ['old'], ['digest']]
const IN_SUMMARY: readonly Path[] = [['abstract'], ['overview'], ['memories']]

export interface EraseMessageOptions extends WriteOptions {
  /** Only if it was said in this very session. @internal */
  readonly here?: boolean
}

/** Why a message goes that nobody has taken back: its time is over. What was made from it stays. */
type Outlived = Pick<MessageErased, 'keeps' | 'ends'>

export async function erase(handle: Handle, id: string, options: EraseMessageOptions): Promise<Written> {
  for (;;) {
    const state = await handle.liveState()
    const transcript = new Transcript(handle.parts, handle.id, state)
    const newest = await transcript.newest(id)
    if (newest === undefined) throw (await transcript.whyUnknown(id)) ?? noMessage(id)
    const { located } = newest
    if (located.journal !== handle.id) {
      // The bytes are those of the session that it was said in.
      if (options.here === true) throw saidElsewhere(id)
      return eraseAtOrigin(handle, state, located)
    }
    // Of one whose time was over, what was made from it is left.
    if (newest.erased && !(await transcript.ownReplacements(id)).kept) return { version: state.version, duplicate: true }
    const terms = handle.terms('erase', { id }, options, located)
    try {
      return await eraseIn(handle, state, newest, terms)
    } catch (error) {
      if (options.expect !== undefined || !isMeanwhile(error)) throw error
    }
  }
}

async function eraseAtOrigin(handle: Handle, { owner }: SessionState, { journal, found, id }: Located): Promise<Written> {
  const origin = new Handle(handle.parts, journal)
  const state = await origin.state()
  if (state.status !== 'live' || state.born > found.at) {
    throw new HoldfastError(
      'FAILED_PRECONDITION',
      `The message "${id}" was said in another session, which was deleted since. Restore that one and erase it there, or delete this one and purge both.`,
      { details: { message_id: id, session_id: journal } },
    )
  }
  // Who has a fork of somebody else's session may not take anything out of that.
  if (state.owner !== owner) throw saidElsewhere(id)
  await erase(origin, id, {})
  return { version: (await handle.liveState()).version, duplicate: false }
}

/** In one session only and in its forks, be it deleted or not. False if it was erased before. */
export async function eraseHere(handle: Handle, id: string, outlived: Outlived = {}): Promise<boolean> {
  for (;;) {
    const state = await handle.state()
    if (state.erasing.length > 0) await finishErasures(handle.parts, handle.id)
    const transcript = new Transcript(handle.parts, handle.id, state)
    const newest = await transcript.newest(id)
    if (newest === undefined) return false
    const { erased, kept } = await transcript.ownReplacements(id)
    if (erased && (!kept || outlived.keeps === true)) return false
    try {
      await eraseIn(handle, state, newest, {}, outlived)
      return true
    } catch (error) {
      if (!isMeanwhile(error)) throw error
    }
  }
}

/** In one session, which has the message in its journal or has inherited it. */
async function eraseIn(
  handle: Handle,
  state: SessionState,
  { located, message, prior }: Newest,
  terms: Terms,
  outlived: Outlived = {},
): Promise<Written> {
  const { id } = located
  const transcript = new Transcript(handle.parts, handle.id, state)
  const journal = handle.held.journal
  const role = roleOf(message.role)
  const own = located.journal === handle.id
  const lines: ErasedLine[] = []
  const add = async (found: Found | undefined, paths: readonly Path[]): Promise<void> => {
    if (found !== undefined) lines.push(await lineOf(handle, found, paths, role))
  }
  const { erased: gone, records } = await transcript.ownReplacements(id)
  if (own && !gone) await add(located.found, [['messages', located.index], ['digest']])
  for (const found of records) await add(found, IN_REPLACEMENT)
  const made = outlived.keeps === true ? [] : madeFrom(state, located)
  for (const archive of made) for (const found of await summariesOf(journal, archive)) await add(found, IN_SUMMARY)
  const inherited = outlived.keeps === true ? [] : state.archives.filter((archive) => archive.session !== null && holds(archive, located))
  const archives = made.map(({ number }) => number)
  const erased = { target: id, role, lines, archives, dropped: inherited.map(({ task }) => task), ...outlived }
  const condition = { prior, read: state }
  const outcome = await handle.submit(terms, (full) => erasures.erase(full, erased, condition))
  if (outcome.placed === undefined) return written(outcome)
  return { version: await carryOut(handle, outcome.placed.at, erased), duplicate: false }
}

/** Finishes the erasures that other processes have begun. Reads of a session that has some do this first. */
export async function finishErasures(parts: SessionParts, id: string): Promise<void> {
  const handle = new Handle(parts, id)
  const { erasing } = await handle.state()
  const records = new Records(handle.held.journal)
  for (const position of erasing) {
    const found = await records.eitherCopyAt(position, 'message.erased')
    if (found?.record.type === 'message.erased') await carryOut(handle, position, found.record as unknown as MessageErased)
  }
}

/** Everything behind the record. Tells the version with which it ends. */
async function carryOut(handle: Handle, position: number, erased: Omit<MessageErased, 'done'>): Promise<string> {
  const state = await writeOverAll(handle, erased.lines)
  for (const { session, kind, born } of state.grants) {
    if (kind === 'fork' && born === state.born) await eraseInFork(new Handle(handle.parts, session), erased)
  }
  // Of a body that goes message by message, once, with the last one. Of a key not from here: the catalog asks for keys itself, so one would wait for the other (`Store.destroyKey`).
  const isKey = handle.parts.space === KEY_SPACE
  if (!isKey && (erased.keeps !== true || erased.ends !== undefined)) await handle.parts.catalog.scrub('erasure')
  const { version } = await handle.submit({}, () => erasures.endErasure(position, erased))
  return version
}

/**
 * Somebody may have read a line before it was written over, to carry it into the segment behind a seal, and die once that segment is published. The seal
 * was there by then, so whoever looks at the end now finds that segment, or makes it himself: then its beginning is gone through too. One who writes what he has read
 * only after this is over looks again himself (`Tail.roll`); if he dies between, a copy stays.
 */
async function writeOverAll(handle: Handle, lines: readonly ErasedLine[]): Promise<SessionState> {
  const { journal } = handle.held
  for (;;) {
    for (const line of lines) await writeOver(journal, line)
    const last = (await journal.segments()).at(-1)
    const state = await handle.state()
    if ((await journal.segments()).at(-1) === last) return state
  }
}

/** A fork that was never made, or is something else by now, has nothing of it. */
async function eraseInFork(fork: Handle, { target: id, keeps }: Pick<MessageErased, 'target' | 'keeps'>): Promise<void> {
  const state = await fork.state()
  if (state.status === 'absent' || state.purged || state.past.length === 0) return
  const located = await new Transcript(fork.parts, fork.id, state).locate(id)
  if (located !== undefined && located.journal !== fork.id) await eraseHere(fork, id, keeps === undefined ? {} : { keeps })
}

/** Own archives that have the message, and those behind them: each summary goes on from the one before. */
function madeFrom({ archives }: SessionState, located: Located): Archive[] {
  const first = archives.find((archive) => holds(archive, located))
  if (first === undefined) return []
  return archives.filter(({ session, number }) => session === null && number >= first.number)
}

function holds({ takes, covers }: Archive, { run, depth }: Located): boolean {
  return isOn(takes, run, depth) || isOn(covers, run, depth)
}

/** The records with the summary of an archive. Software of format 1 wrote one that was imported as two records. */
async function summariesOf(journal: Journal, { number, at, ended }: Archive): Promise<Found[]> {
  if (ended === null) return []
  const records = new Records(journal)
  const last = await records.eitherCopyAt(ended, 'commit.finished')
  const isAdopted = (await records.eitherCopyAt(at, 'commit.finished'))?.record.type === 'commit.finished'
  if (!isAdopted) return last?.record.type === 'commit.finished' ? [last] : []
  const all: Found[] = []
  for await (const found of records.forward(at, ended)) {
    if (found.record.type === 'commit.finished' && (found.record as unknown as CommitFinished).archive === number) all.push(found)
  }
  return all
}

async function lineOf(handle: Handle, found: Found, paths: readonly Path[], role: string | null): Promise<ErasedLine> {
  for await (const line of inPlaceFirst(handle.held.journal, found)) {
    const decoded = decodeLine(line.bytes)
    if (decoded.kind !== 'record' || decoded.record.pos !== found.at) continue
    const parts = isEncrypted(decoded.record) ? await encryptedParts(handle, line, decoded.record, paths, role) : partsOf(line, paths, role)
    return { at: found.at, record: found.record.id, old: decoded.crc, new: overwritten(line.bytes, parts).crc, parts }
  }
  throw new HoldfastError('UNAVAILABLE', 'A record went away while it was to be erased: the session was purged meanwhile. Try again.')
}

/** The line of a record: as a rule it stands in its place. */
async function* inPlaceFirst(journal: Journal, { at, end, record }: Found): AsyncGenerator<Line> {
  const segment = (await journal.segments()).findLast((first) => first <= at)
  const chunk = segment === undefined ? undefined : await journal.read(segment, at, end - at)
  yield* chunk?.lines.slice(0, 1) ?? []
  for await (const { line } of copiesOf(journal, at, record.id)) yield line
}

function partsOf(line: Line, paths: readonly Path[], role: string | null): ErasedPart[] {
  return paths.flatMap((path) => {
    const [wanted, shortest] = fillingOf(path, role)
    const part = partOf(line.bytes, path, wanted, shortest)
    return part === undefined ? [] : [{ ...part, path }]
  })
}

/**
 * The same of an encrypted line. A message that was encrypted separately is removed; everything else is encrypted again without the values. So do the
 * digests that id files have: a key alone would not keep somebody who has it from trying what the message was.
 */
async function encryptedParts(
  { name, parts: { dataKeys } }: Handle,
  line: Line,
  raw: JournalRecord,
  paths: readonly Path[],
  role: string | null,
): Promise<ErasedPart[]> {
  const opened = readLine(line)
  const cipher = sessionCipher(name, dataKeys)
  if (opened.kind !== 'record' || cipher === undefined)
    throw new HoldfastError('DAMAGED', 'A record that is to be erased cannot be opened.')
  await cipher.ready()
  const alone = Array.isArray(raw.messages) ? paths.filter(([name]) => name === 'messages') : []
  const inData = paths.filter((path) => !alone.includes(path) && path[0] !== undefined && opened.record[path[0]] !== undefined)
  const parts = alone.flatMap((path) => partAt(line, path, JSON.stringify(cipher.message(raw, path[1] as number, tombstone(role))), '{}'))
  if (inData.length > 0) {
    const without = (withRole: boolean): string =>
      JSON.stringify(cipher.data(raw, payloadWithout(opened.record, raw, inData, withRole ? role : undefined)))
    parts.push(...partAt(line, ['data'], without(true), without(false)))
  }
  const index = paths.find(([name]) => name === 'messages')?.[1] ?? 0
  for (const [i, [, of, digest]] of ((raw.keys as RecordKeys | undefined) ?? []).entries()) {
    // The first may be of the operation, whose digest is of all messages.
    if (digest !== '' && (of === index || i === 0)) parts.push(...partAt(line, ['keys', i, 2], '""', '""'))
  }
  return parts
}

function partAt(line: Line, path: Path, wanted: string, shortest: string): ErasedPart[] {
  const part = partOf(line.bytes, path, wanted, shortest)
  if (part !== undefined && Buffer.byteLength(part.text) > part.to - part.from)
    throw new HoldfastError('DAMAGED', 'A record that is to be erased would grow. Keep the files and report this.')
  return part === undefined ? [] : [{ ...part, path }]
}

/** What is in `data` of a record, without some values: not what stands in the open, or was sealed by itself. A role is kept if it is given. */
function payloadWithout(opened: JournalRecord, raw: JournalRecord, paths: readonly Path[], role: string | null | undefined): JsonObject {
  const shown = new Set([...Object.keys(raw), 'messages'].filter((field) => field !== 'messages' || Array.isArray(raw.messages)))
  const payload = structuredClone(Object.fromEntries(Object.entries(opened).filter(([field]) => !shown.has(field)))) as Record<string, Json>
  for (const path of paths) {
    const [name, index] = path as readonly [string, number?]
    const [wanted, shortest] = fillingOf(path, role ?? null)
    const filling = JSON.parse(role === undefined ? shortest : wanted) as Json
    if (index === undefined) payload[name] = filling
    else (payload[name] as Json[])[index] = filling
  }
  return payload as JsonObject
}

/** What takes the place of a value, and the shortest that it can be. */
function fillingOf([name]: Path, role: string | null): readonly [string, string] {
  if (name === 'digest' || name === 'old') return [NO_DIGEST, '""']
  if (name === 'memories') return ['[]', '[]']
  return name === 'messages' || name === 'message' ? [JSON.stringify(tombstone(role)), '{}'] : ['""', '""']
}

/**
 * Writes over a line wherever it stands, also one that another process has begun with. Somebody may carry it into a new segment meanwhile: one that
 * was made before the last look is gone through, and whoever makes one later looks again at what he has carried (`Tail.roll`).
 */
async function writeOver(journal: Journal, erased: ErasedLine): Promise<void> {
  for (let again = true; again; ) {
    const last = (await journal.segments()).at(-1)
    again = false
    for await (const { segment, line } of copiesOf(journal, erased.at, erased.record)) {
      const bytes = erasedBytes(line, erased)
      // Somebody else was at it between: it is looked at again.
      if (bytes !== undefined && !bytes.equals(line.bytes)) again ||= !(await journal.overwrite(segment, line.at, line.bytes, bytes))
    }
    again ||= (await journal.segments()).at(-1) !== last
  }
}

/** What an erasure makes of a line; undefined if there is nothing to erase. */
export function erasedBytes(line: Line, { at, new: fresh, parts }: ErasedLine): Buffer | undefined {
  const decoded = decodeLine(line.bytes)
  if (decoded.kind === 'blank') return undefined
  if (decoded.kind === 'record') {
    if (decoded.record.pos === at) return overwritten(line.bytes, parts).bytes
    // It was written for another place and lost a race there. It counts nowhere, and has the message all the same.
    const moved = parts.flatMap(({ path, text }) => partOf(line.bytes, path, text, text) ?? [])
    return overwritten(line.bytes, moved).bytes
  }
  const whole = overwritten(line.bytes, parts)
  // Some of its bytes are new and others old: then it is what it was to be, once all of them are new.
  if (whole.crc === fresh) return whole.bytes
  // A line that nobody can read says nothing by what is left of it but what is to be erased.
  return Buffer.alloc(line.bytes.length, ' ')
}

/** Lines that hold a record, or what is left of one: in its place, in front of it, where it lost a race, and where later segments carry it. */
async function* copiesOf(journal: Journal, position: number, record: string): AsyncGenerator<{ segment: number; line: Line }> {
  const head = Buffer.from(`"id":"${record}"`)
  const segments = await journal.segments()
  const own = segments.findLastIndex((first) => first <= position)
  for (const segment of segments.slice(Math.max(0, own - 1), Math.max(0, own) + 1)) {
    for await (const line of scanLines(journal, segment)) if (isOf(line, head)) yield { segment, line }
  }
  let empty = 0
  for (const segment of segments.slice(own + 1)) {
    let carries = false
    // The beginning of a segment is short, unless it carries something.
    for await (const line of scanLines(journal, segment, { bytes: PREAMBLE_BYTES })) {
      const pos = positionIn(line)
      if (pos === line.at) break
      carries ||= pos !== undefined
      if (isOf(line, head)) yield { segment, line }
    }
    // As whoever reads carried lines does: behind so many segments that carry nothing, nobody carries these.
    empty = carries ? 0 : empty + 1
    if (empty === EMPTY_PREAMBLES) return
  }
}

const PREAMBLE_BYTES = 16 * 1024
const EMPTY_PREAMBLES = 3
/** An id stands near the beginning of a line. */
const HEAD_BYTES = 128

function isOf({ bytes }: Line, head: Buffer): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, HEAD_BYTES)).includes(head)
}

/** The position that a line says, whatever else it is; undefined of a checkpoint, and of what is no record. */
function positionIn({ bytes }: Line): number | undefined {
  const end = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).subarray(-64).toString('latin1')
  const said = /"pos":(\d+),"crc":"[0-9a-f]{8}"\}$/.exec(end)
  return said === null ? undefined : Number(said[1])
}

function roleOf(role: unknown): string | null {
  return typeof role === 'string' && role.length <= 32 ? role : null
}

function saidElsewhere(id: string): HoldfastError {
  return new HoldfastError('PERMISSION_DENIED', `The message "${id}" was said in another session. Only there it can be erased.`, {
    details: { message_id: id },
  })
}

function isMeanwhile(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === 'CONFLICT' && error.details.reason === 'replaced meanwhile'
}
