/**
 * One session of a source on its way into the store. The first items are held back until it can be told whether the session is there already
 * and is the same one; from then on each item is written as it comes. Everything that is no message is carried out under a key made
 * from what it says, so that it happens once, however often the source is read, and whatever was changed here since stays.
 */
import { HoldfastError } from '../../errors.ts'
import { hashKey } from '../../record/keys.ts'
import type { JsonObject } from '../../record/record.ts'
import * as archives from '../../session/archives.ts'
import { checkDescription, checkedText, objectText } from '../../session/check.ts'
import * as decide from '../../session/decide.ts'
import type { JsonText } from '../../session/json-text.ts'
import { entryKey } from '../../session/keys.ts'
import type { Point, SessionState } from '../../session/state.ts'
import type { ArchiveItem, EntryItem, Item, MessageItem, SessionItem } from '../../transfer/item.ts'
import { ContentIds, digest } from '../../transfer/values.ts'
import { admit, admitAmount, admitText } from '../admission.ts'
import { Handle, type Make } from '../handle.ts'
import type { StoreParts } from '../parts.ts'
import { Session } from '../session.ts'
import { Batches, type Prepared } from './batches.ts'
import type { Ledger } from './ledger.ts'
import { sharedWith } from './lineage.ts'
import { Draft, type ImportedSession } from './report.ts'
import { Suspects } from './suspects.ts'

/** One record of messages: large enough for speed, small enough to share a group with others. */
const BATCH_MESSAGES = 256
const BATCH_BYTES = 192 * 1024
/** So many items are held back until it is told what session they belong to. */
const HELD_ITEMS = 512

export interface SessionImportOptions {
  readonly parts: StoreParts
  readonly ledger: Ledger
  readonly source: string
  readonly format: string
  readonly dryRun: boolean
  /** What a foreign session is called here, as far as it was imported in this run, with the ids of its messages if nothing is written. */
  readonly called: Map<string, { readonly id: string; readonly seen: Set<string> }>
}

export class SessionImport {
  readonly report = new Draft()
  readonly #options: SessionImportOptions
  readonly #begin: SessionItem
  readonly #held: Item[] = []
  readonly #suspects = new Suspects(this.report)
  readonly #keys = new ContentIds()
  /** Ids that this source has had, where nothing is written. */
  readonly #seen = new Set<string>()
  #handle: Handle
  #batches: Batches | undefined
  #messages: Prepared[] = []
  /** Their ids. */
  readonly #ids = new Set<string>()
  #bytes = 0
  #after: string | null | undefined
  #entries: EntryItem[] = []
  #last: string | undefined
  /** Nothing is to be written: the session was deleted here. */
  #closed = false
  /** It was made by an import; otherwise only messages are added to it. */
  #own = true

  constructor(begin: SessionItem, options: SessionImportOptions) {
    this.#begin = begin
    this.#options = options
    this.#handle = new Handle(options.parts, begin.session)
  }

  /** It comes from an export: everything happens in the order and at the time that it says. */
  get #isExport(): boolean {
    return this.#options.format === 'holdfast'
  }

  get id(): string {
    return this.#handle.id
  }

  async take(item: Item): Promise<void> {
    if (item.kind === 'damage') this.report.addDamage(item.place, item.reason)
    else if (item.kind === 'healed') this.report.healed.push(item.what)
    else if (item.kind === 'session') return
    else if (this.#batches !== undefined) await this.#carryOut(item)
    else {
      this.#held.push(item)
      if (this.#held.length >= HELD_ITEMS) await this.open()
    }
  }

  async finish(): Promise<ImportedSession> {
    await this.open()
    await this.#flush()
    return this.report.finished(this.#options.source, this.#options.format, this.id)
  }

  /** Finds or makes the session, and carries out what was held back. */
  async open(): Promise<void> {
    if (this.#batches !== undefined) return
    const first = this.#held.filter((item) => item.kind === 'message').map(({ id }) => id)
    const isFork = await this.#settle(first)
    this.#batches = new Batches(this.#handle, this.report, isFork)
    this.#options.called.set(this.#begin.session, { id: this.id, seen: this.#seen })
    for (const item of this.#held.splice(0)) await this.#carryOut(item)
  }

  async #settle(first: readonly string[]): Promise<boolean> {
    const { dryRun } = this.#options
    for (let tries = 0; ; tries++) {
      const state = await this.#handle.state()
      if (state.status === 'deleted') {
        this.#closed = true
        this.report.note = 'It was deleted here, and is not brought back. Restore it, and import again.'
        return false
      }
      if (state.status === 'absent') return this.#create(dryRun)
      const made = await this.#handle.held.replica.find([hashKey('operation', this.#createKey())])
      this.#own = made[0] !== undefined
      if (tries > 0 || (await this.#isSame(state, first))) return state.past.length > 0
      // Another session has this id.
      this.#handle = new Handle(this.#options.parts, `${this.#begin.session}-${digest(this.#options.source).slice(0, 8)}`)
    }
  }

  async #isSame({ runs }: SessionState, first: readonly string[]): Promise<boolean> {
    if (runs.length === 0 || first.length === 0) return true
    const known = await new Batches(this.#handle, this.report, false).known(first)
    return known.some((entry) => entry !== undefined) || (await this.#options.ledger.originOf(this.id)) === this.#options.source
  }

  #createKey(): string {
    return `import:${this.#options.format}:${digest(this.#begin.session)}`
  }

  async #create(dryRun: boolean): Promise<boolean> {
    const { parent, description, at } = this.#begin
    const { parts, called } = this.#options
    const from = parent === undefined ? undefined : new Handle(parts, called.get(parent.session)?.id ?? parent.session)
    const checked = this.#checked(description)
    const base = { id: this.id, key: this.#createKey(), ...(at === undefined ? {} : { when: at }), ...checked }
    const isHere =
      from !== undefined && from.id !== this.id && (called.has(parent?.session ?? '') || (await from.state()).status === 'live')
    if (parent !== undefined && !isHere)
      this.report.healed.push(`It comes from "${parent.session}", which is not here: it begins on its own.`)
    if (dryRun) return false
    if (parent !== undefined && from !== undefined && isHere) {
      const messages = this.#held.filter((item) => item.kind === 'message')
      const message = parent.kind === 'fork' ? await sharedWith(from, parent, messages) : undefined
      const session = new Session(parts, from.id)
      if (message === undefined) await session.child(base)
      else await session.fork({ ...base, at: message })
      return message !== undefined
    }
    const session = { space: parts.space, session: this.id, ...checked }
    const terms = { ...this.#handle.terms('create', session, { key: this.#createKey() }), at }
    if (this.#handle.parts.quotas !== undefined) await admitAmount(this.#handle, {})
    await this.#handle.submit(terms, (full) => decide.create(full, session, { ifAbsent: true }))
    return false
  }

  #checked(description: SessionItem['description']): decide.Descriptive {
    try {
      return checkDescription(this.#admitted('description', description))
    } catch (error) {
      this.#tell(error, 'Its title, tags or metadata')
      return {}
    }
  }

  async #carryOut(item: Item): Promise<void> {
    if (this.#closed) return
    if (item.kind === 'message') await this.#message(item)
    else if (this.#options.dryRun || !this.#own) return
    else if (item.kind === 'entry' && !this.#isExport) {
      this.#entries.push(item)
      if (this.#entries.length >= BATCH_MESSAGES) await this.#putEntries()
    } else {
      // Usage needs no order, but where the order of an export is kept.
      if (item.kind !== 'usage' || this.#isExport) await this.#flush()
      await this.#attempt(item)
    }
  }

  async #message(item: MessageItem): Promise<void> {
    const { id, at, after, recovered } = item
    if (recovered === true) this.report.recovered++
    let text: Prepared['text']
    try {
      const told = item.text === undefined ? objectText('The message', item.message) : wellFormed(item.text, item.digest)
      text = admitText(this.#options.parts, this.id, told)
    } catch (error) {
      this.#tell(error, `The message "${id}"`)
      return
    }
    this.#suspects.look(item)
    if (after !== undefined || this.#messages.length >= BATCH_MESSAGES || this.#bytes + text.text.length > BATCH_BYTES) await this.#send()
    if (this.#messages.length === 0) this.#after = after ?? (this.#begin.exact === true ? this.#last : undefined)
    if (after === null) this.#after = null
    // Twice in one source, one behind the other: it is one message.
    if (this.#ids.size === this.#ids.add(id).size) {
      this.report.skipped++
      return
    }
    this.#messages.push({ id, text, at: at ?? null })
    this.#bytes += text.text.length
    this.#last = id
  }

  async #send(): Promise<void> {
    const batch = { messages: this.#messages, after: this.#after }
    this.#messages = []
    this.#ids.clear()
    this.#bytes = 0
    this.#after = undefined
    if (!this.#options.dryRun) return this.#batches?.add(batch)
    await this.#countOnly(batch.messages)
  }

  async #countOnly(messages: readonly Prepared[]): Promise<void> {
    const known = await (this.#batches as Batches).known(messages.map(({ id }) => id))
    const parent = this.#begin.parent === undefined ? undefined : this.#options.called.get(this.#begin.parent.session)
    for (const [index, { id }] of messages.entries()) {
      if (known[index] !== undefined || this.#seen.has(id) || parent?.seen.has(id) === true) this.report.skipped++
      else this.report.messages++
      this.#seen.add(id)
    }
  }

  async #flush(): Promise<void> {
    await this.#send()
    await this.#batches?.flush()
    await this.#putEntries()
  }

  async #putEntries(): Promise<void> {
    const entries = this.#entries
    this.#entries = []
    if (entries.length === 0 || this.#closed) return
    const known = await this.#handle.held.replica.find(entries.map(({ channel, key }) => entryKey(channel, key)))
    const fresh = entries.filter(({ key }, index) => known[index] === undefined && entries.findIndex((one) => one.key === key) === index)
    const values = fresh.map((entry) => ({ channel: entry.channel, key: entry.key, value: this.#admitted('entry', entry).value ?? null }))
    if (values.length > 0) await this.#handle.submit({}, (full) => decide.putEntries(full, values))
  }

  /** Carries out something that is no message. What cannot be is told, and costs itself. */
  async #attempt(item: Exclude<Item, MessageItem>): Promise<void> {
    try {
      await this.#perform(item)
    } catch (error) {
      this.#tell(error, `A ${item.kind}`)
    }
  }

  async #perform(item: Exclude<Item, MessageItem>): Promise<void> {
    switch (item.kind) {
      case 'describe': {
        const checked = checkDescription(this.#admitted('description', item.description))
        return this.#under(item, (terms) => decide.describe(terms, checked))
      }
      case 'entry': {
        const { channel, key } = item
        const { value } = this.#admitted('entry', item)
        return this.#under(item, (terms) => decide.putEntries(terms, [value === undefined ? { channel, key } : { channel, key, value }]))
      }
      case 'snapshot': {
        const point = await this.#pointOf(item.message)
        return this.#under(item, (terms) => decide.snapshot(terms, item.name, point))
      }
      case 'head': {
        const { why, target } = item
        const point = await this.#pointOf(item.to)
        return this.#under(item, (terms) => decide.moveTo(terms, point, target === undefined ? { why } : { why, target }))
      }
      case 'usage': {
        const { model, inputTokens, outputTokens } = item
        return this.#under(item, (terms) => decide.recordUsage(terms, { model, inputTokens, outputTokens }), item.key)
      }
      case 'share': {
        const { share, digest: token, expiresAt, redact } = item
        const granted = { share, token, expiresAt, ...(redact === true ? { redact } : {}) }
        return this.#under(item, (terms) => decide.share(terms, granted))
      }
      case 'replacement': {
        const text = admitText(this.#options.parts, this.id, objectText('The message', item.message))
        const prepared = { id: item.id, text, at: item.at ?? null }
        await this.#batches?.replace(prepared, this.#isExport ? this.#keyOf(item) : undefined)
        return
      }
      case 'fork': {
        const { child, message, as, description, at } = item
        const key = `import:${this.#options.format}:${digest(child)}`
        const base = { id: child, key, ...(at === undefined ? {} : { when: at }), ...checkDescription(description) }
        if ((await new Handle(this.#options.parts, child).state()).status !== 'absent') return
        const session = new Session(this.#options.parts, this.id)
        await (as === 'child' || message === null ? session.child(base) : session.fork({ ...base, at: message }))
        return
      }
      case 'archive':
        return this.#archive(item)
      default:
    }
  }

  async #archive({ key, upTo, at, outcome, task: named }: ArchiveItem): Promise<void> {
    const boundary = await this.#pointOf(upTo ?? this.#last ?? null)
    const hex = digest(`${this.#begin.session}\0${key}`)
    const task = named ?? [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
    if (outcome.status !== 'completed') {
      await this.#submit({ at }, (terms) => archives.request(terms, boundary, task))
      if (outcome.status === 'pending') return
      const ended = outcome.status === 'failed' ? { attempts: outcome.attempts ?? 0, error: outcome.error } : { attempts: 0 }
      return this.#submit({ at: outcome.endedAt ?? at }, (terms) => archives.giveUp(terms, task, ended))
    }
    const { owner = null, model = 'imported', usage, attempts = 0, endedAt, retracted } = outcome
    const { abstract, overview, memories = [] } = this.#admitted('summary', outcome)
    const requested = at === undefined ? {} : { requestedAt: at }
    const adopted = { task, ...requested, attempts, abstract, overview, memories, owner, model, ...(usage === undefined ? {} : { usage }) }
    const when = { at: endedAt ?? at }
    await this.#submit(when, (terms) => archives.adopt(terms, boundary, adopted))
    await this.#submit(when, (terms) => archives.copy(terms, boundary, adopted))
    const number = (await this.#handle.state()).archives.find((archive) => archive.task === task)?.number
    if (retracted === true && number !== undefined) await this.#submit({}, (terms) => archives.retract(terms, number))
  }

  async #pointOf(id: string | null): Promise<Point> {
    if (id === null) return { at: null, n: 0, t: 0 }
    return (await this.#handle.locate(id)).point
  }

  /** Under a key that is made from what the item says. */
  async #under(item: Item, make: Make, name?: string): Promise<void> {
    await this.#submit({ ...this.#keyOf(item, name), at: 'at' in item ? item.at : undefined }, make)
  }

  #keyOf(item: Item, name?: string): { key: string; digest: string } {
    const id = name === undefined ? this.#keys.next(item as unknown as JsonObject) : digest(name)
    return { key: `import:${item.kind}:${id}`, digest: digest(`${item.kind} ${id}`) }
  }

  #admitted<T extends object>(kind: 'entry' | 'description' | 'summary', value: T): T {
    return admit(this.#options.parts, this.id, kind, value)
  }

  async #submit(terms: decide.Terms, make: Make): Promise<void> {
    await this.#handle.submit(terms, make)
  }

  /** Something that this store cannot take. Whatever else goes wrong ends the import. */
  #tell(error: unknown, what: string): void {
    const refused = ['INVALID_ARGUMENT', 'PAYLOAD_TOO_LARGE', 'CONFLICT', 'NOT_FOUND', 'DAMAGED']
    if (!(error instanceof HoldfastError) || !refused.includes(error.code)) throw error
    const place = { file: this.#options.source, line: null, offset: 0, length: 0 }
    this.report.addDamage(place, `${what} cannot be kept: ${error.message}`)
  }
}

/** A message that is JSON already. Half of a surrogate pair cannot be stored: then its text and its digest are others. */
function wellFormed(text: string, digestOfIt: string | undefined): JsonText {
  if (text.includes('\\ud')) return objectText('The message', JSON.parse(text) as unknown)
  return checkedText('The message', text, undefined, digestOfIt)
}
