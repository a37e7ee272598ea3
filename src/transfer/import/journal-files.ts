/**
 * Files of a Holdfast store as a source: one segment, all segments of a session, or all journals of a space. They are put into a store in memory,
 * which judges each line as any store does, and that store is exported. So an import has everything that counts, in its order, with its forks and
 * archives. What is damaged is reported and goes into the quarantine.
 *
 * Encrypted journals need the keys of their store, and a large store does not fit into memory: both are refused, with the command that helps.
 */
import { KEY_SPACE, STORE_SPACE } from '../../engine/names.ts'
import { openMemoryEngine, type SegmentBytes } from '../../engines/memory/engine.ts'
import { HoldfastError } from '../../errors.ts'
import { firstPosition } from '../../formats/file-names.ts'
import { holdfast } from '../../formats/holdfast.ts'
import type { DamageItem, Importer, Item, Source, SourceFile } from '../../formats/item.ts'
import { firstObjects, headOf } from '../../formats/raw.ts'
import { decodeLine, splitLines } from '../../record/line.ts'
import { isEncrypted } from '../../record/line-cipher.ts'
import type { JsonObject } from '../../record/record.ts'
import { identityOf } from '../../session/identity.ts'
import { sessionReducer } from '../../session/reducer.ts'
import { type DamagedPlace, damageOf } from '../../store/damage/damage.ts'
import { openStore } from '../../store/open-store.ts'
import { exportFrom } from '../export/export.ts'

/** What is held in memory at once. */
const MOST_BYTES = 512 * 1024 * 1024

/** Of the same name as the importer of exports: what it finds becomes the same sessions. */
export const journalFiles: Importer = {
  name: holdfast.name,
  recognises: (source, heads) =>
    source.files.every(({ path }) => firstPosition(path) !== undefined) || firstObjects(headOf(source, heads)).some(isRecordLine),
  read,
}

function isRecordLine({ v, id, at, type, prev, crc }: JsonObject): boolean {
  const texts = [id, at, type, prev, crc]
  return Number.isInteger(v) && texts.every((one) => typeof one === 'string') && /^[0-9a-f]{8}$/.test(crc as string)
}

interface Segment extends Omit<SegmentBytes, 'space' | 'session'> {
  readonly file: SourceFile
}

interface JournalFiles {
  readonly space: string
  readonly session: string
  readonly segments: readonly Segment[]
}

async function* read(source: Source): AsyncGenerator<Item | Item[]> {
  const { journals, unknown } = await readJournals(source)
  yield unknown
  const spaces = journals.map((journal) => journal.space).filter((name) => name !== STORE_SPACE && name !== KEY_SPACE)
  const [space, ...others] = new Set(spaces)
  if (others.length > 0)
    throw refusal(source, 'These files hold sessions of several spaces. Import each directory below "sessions" on its own.')
  if (space === undefined) return
  const own = journals.filter((journal) => journal.space === space)
  const segments = own.flatMap((journal) => journal.segments.map(({ first, bytes }) => ({ space, session: journal.session, first, bytes })))
  const engine = openMemoryEngine({ keysOf: sessionReducer.keysOf, segments })
  await using store = await openStore(engine, { space, brief: true })
  const elsewhere: Item[] = []
  const onSession = (session: string, places: readonly DamagedPlace[]): void => {
    const parents = new Set(places.flatMap((place) => place.session ?? []))
    for (const parent of parents) elsewhere.push(inherited(source, session, parent))
  }
  const text = { path: source.name, size: 0, read: () => bytesOf(exportFrom(store, { onSession })) }
  for await (const items of holdfast.read({ name: source.name, files: [text] })) yield items as Item[]
  yield elsewhere
  for (const journal of own) yield await damageIn(journal, engine.journal(engine.name(space, journal.session)))
}

async function* bytesOf(pieces: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield Buffer.from(piece)
}

/** The journals in the files of a source, and the bytes of files that do not say whose they are. */
async function readJournals(source: Source): Promise<{ readonly journals: JournalFiles[]; readonly unknown: DamageItem[] }> {
  const byDirectory = new Map<string, Segment[]>()
  let length = 0
  for (const file of source.files) {
    const segment = await readSegment(file)
    length += segment.bytes.length
    if (length > MOST_BYTES) throw refusal(source, `It has more than ${MOST_BYTES} bytes.`)
    if (isSealed(segment)) throw refusal(source, 'Its records are encrypted.')
    const directory = file.path.slice(0, Math.max(0, file.path.lastIndexOf('/')))
    byDirectory.set(directory, [...(byDirectory.get(directory) ?? []), segment])
  }
  const journals: JournalFiles[] = []
  const unknown: DamageItem[] = []
  for (const found of byDirectory.values()) {
    const segments = found.sort((a, b) => a.first - b.first)
    const identity = identityIn(segments)
    if (identity !== undefined) journals.push({ space: identity.space, session: identity.id, segments })
    else
      for (const { file, bytes } of segments) unknown.push(damage(file, null, { offset: 0, bytes, reason: 'Nothing says whose this is.' }))
  }
  return { journals, unknown }
}

async function readSegment(file: SourceFile): Promise<Segment> {
  const parts: Uint8Array[] = []
  for await (const chunk of file.read()) parts.push(Buffer.from(chunk))
  const bytes = Buffer.concat(parts)
  return { file, first: firstPosition(file.path) ?? firstIn(bytes), bytes }
}

/** Where a segment begins whose file has another name, by the first record that says its own position. */
function firstIn(bytes: Uint8Array): number {
  for (const { at, bytes: line } of splitLines(bytes, 0).lines) {
    const decoded = decodeLine(line)
    if (decoded.kind === 'record' && typeof decoded.record.pos === 'number') return Math.max(0, decoded.record.pos - at)
  }
  return 0
}

function isSealed({ bytes }: Segment): boolean {
  return splitLines(bytes, 0).lines.some(({ bytes: line }) => {
    const decoded = decodeLine(line)
    return decoded.kind === 'record' && isEncrypted(decoded.record)
  })
}

function identityIn(segments: readonly Segment[]): { readonly space: string; readonly id: string } | undefined {
  for (const { bytes } of segments) {
    for (const { bytes: line } of splitLines(bytes, 0).lines) {
      const identity = identityOf(line)
      if (identity !== undefined) return identity
    }
  }
  return undefined
}

async function damageIn({ session, segments }: JournalFiles, journal: Parameters<typeof damageOf>[0]): Promise<DamageItem[]> {
  const found: DamageItem[] = []
  for (const { segment, offset, length, kind } of await damageOf(journal)) {
    const { file, bytes } = segments.find(({ first }) => first === segment) ?? (segments[0] as Segment)
    const reason = kind === 'missing' ? 'Bytes of this journal are missing.' : `These bytes are not what was written: ${kind}.`
    found.push(damage(file, session, { offset, bytes: bytes.subarray(offset, offset + length), reason }))
  }
  return found
}

function damage(
  file: SourceFile,
  session: string | null,
  { offset, bytes, reason }: { readonly offset: number; readonly bytes: Uint8Array; readonly reason: string },
): DamageItem {
  return { kind: 'damage', session, place: { file: file.path, line: null, offset, length: bytes.length }, reason, bytes }
}

/** A fork shares messages with a session whose journal is not among the files. */
function inherited({ name }: Source, session: string, parent: string): DamageItem {
  const reason = `It shares messages with the session "${parent}", which cannot be read here. Import the directory that holds both.`
  return { kind: 'damage', session, place: { file: name, line: null, offset: 0, length: 0 }, reason, bytes: new Uint8Array() }
}

function refusal({ name }: Source, why: string): HoldfastError {
  const help =
    'To copy the whole store with everything in it, run `holdfast copy <its directory> <another store>`. To import its sessions here, run `holdfast export --all --store <its directory> --out sessions.jsonl` and import that file.'
  return new HoldfastError('UNREADABLE', `${why} ${help}`, { details: { source: name } })
}
