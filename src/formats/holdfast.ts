/**
 * Holdfast's own export: a line that names the session, then one item a line, in the order in which things happened. Reading it returns the
 * items as they were written. A last line says how many there must be.
 *
 *     {"holdfast":1,"kind":"session","session":"a","at":"…","description":{…}}
 *     {"kind":"message","id":"m1","at":"…","message":{…}}
 *     {"kind":"archive","key":"1","upTo":"m1",…}
 *     {"kind":"end","items":2}
 *
 * It may come from anywhere, so everything is checked. A line that is no item is reported as damage, and no other line is lost with it.
 */
import type { JsonObject } from '../record/record.ts'
import type { Description } from '../session/records.ts'
import { isItemKind, itemOf, timeOf } from './holdfast-items.ts'
import type { DamageItem, Importer, Item, ParentItem, SessionItem, SourceFile } from './item.ts'
import type { Raw } from './lines.ts'
import { damageOf, fileOf, firstObjects, headOf, type LinePosition, type LineReader, readThrough } from './raw.ts'
import { asId, asObject, ContentIds } from './values.ts'

const EXPORT_VERSION = 1

export const holdfast: Importer = {
  name: 'holdfast',
  recognises: (source, heads) => firstObjects(headOf(source, heads)).some((line) => typeof line.holdfast === 'number' || isLine(line)),
  read: (source) => readThrough(source, isLine, new ExportReader(fileOf(source))),
}

function isLine({ kind }: JsonObject): boolean {
  return kind === 'session' || kind === 'end' || isItemKind(kind)
}

/** Reads the lines of an export, one session after the other. */
class ExportReader implements LineReader {
  readonly items: Item[] = []
  readonly #file: SourceFile
  #session: string | null = null
  /** Keys for what has none, unlike each other within a session. */
  #ids = new ContentIds()
  /** Items of the session so far, its own line included. */
  #count = 0
  /** The last line of the session is still to come. */
  #isOpen = false

  constructor(file: SourceFile) {
    this.#file = file
  }

  damage(damage: DamageItem): void {
    this.items.push(damageOf(damage, this.#session))
  }

  line(record: JsonObject, recovered: boolean, raw: Raw | undefined, position: LinePosition): void {
    if (record.kind === 'end') {
      this.#isOpen = false
      if (record.items !== this.#count) this.#addMissing()
      return
    }
    const item = record.kind === 'session' ? sessionItem(record) : this.#itemOf(record, recovered, raw)
    if (item === undefined) {
      this.#addUnknown(record, position)
      return
    }
    if (item.kind === 'session') this.#begin(item.session)
    this.#count++
    this.items.push(item)
  }

  end(): void {
    if (this.#isOpen) this.#addMissing()
  }

  #itemOf(record: JsonObject, recovered: boolean, raw: Raw | undefined): Item | undefined {
    return this.#session === null ? undefined : itemOf({ record, recovered, raw, session: this.#session, ids: this.#ids })
  }

  #begin(session: string): void {
    this.end()
    this.#session = session
    this.#ids = new ContentIds()
    this.#count = 0
    this.#isOpen = true
  }

  #addMissing(): void {
    const place = { file: this.#file.path, line: null, offset: this.#file.size, length: 0 }
    const reason = 'Lines of this session are missing.'
    this.items.push({ kind: 'damage', session: this.#session, place, reason, bytes: new Uint8Array() })
  }

  #addUnknown(record: JsonObject, { line, offset }: LinePosition): void {
    const bytes = Buffer.from(JSON.stringify(record))
    const reason = this.#session === null ? 'Nothing says whose this is.' : 'This is no item of an export, or one of a newer version.'
    const place = { file: this.#file.path, line, offset, length: bytes.length }
    this.items.push({ kind: 'damage', session: this.#session, place, reason, bytes })
  }
}

/** One line of an export, without its newline. */
export function lineOf(item: Item): string {
  if (item.kind === 'session') return JSON.stringify({ holdfast: EXPORT_VERSION, ...item })
  const { session: _, ...rest } = item
  // The key of a call is made again when it is read.
  return JSON.stringify(rest.kind === 'usage' ? { ...rest, key: undefined } : rest)
}

export function endLine(items: number): string {
  return JSON.stringify({ kind: 'end', items })
}

function sessionItem(line: JsonObject): SessionItem | undefined {
  const session = asId(line.session)
  if (session === undefined || (typeof line.holdfast === 'number' && line.holdfast > EXPORT_VERSION)) return undefined
  const parent = parentOf(asObject(line.parent))
  return {
    kind: 'session',
    session,
    ...timeOf(line),
    description: (asObject(line.description) ?? {}) as Description,
    ...(parent === undefined ? {} : { parent }),
  }
}

function parentOf(parent: JsonObject | undefined): ParentItem | undefined {
  const session = asId(parent?.session)
  if (parent === undefined || session === undefined || (parent.kind !== 'fork' && parent.kind !== 'child')) return undefined
  return { session, kind: parent.kind, message: asId(parent.message) ?? null }
}
