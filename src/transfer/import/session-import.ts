/**
 * One session of a source on its way into the store. The first items are held back until it can be told whether the session is there already
 * and is the same one; from then on each item is written as it comes. Everything that is no message is carried out under a key made
 * from what it says, so that it happens once, however often the source is read, and whatever was changed here since stays.
 */
import { HoldfastError } from '../../errors.ts'
import type { ArchiveItem, EntryItem, SessionItem } from '../../formats/item.ts'
import { BATCH_BYTES, messagesOf, type Ready, type ReadyMessage, type ReadyMessages } from '../../formats/ready.ts'
import { ContentIds, digest } from '../../formats/values.ts'
import { hashKey } from '../../record/key-hash.ts'
import { LIMITS } from '../../record/limits.ts'
import type { JsonObject } from '../../record/record.ts'
import * as archives from '../../session/archives.ts'
import { checkDescription, objectText } from '../../session/check.ts'
import type { Terms } from '../../session/command.ts'
import * as decide from '../../session/decide.ts'
import { entryKey } from '../../session/record-keys.ts'
import type { ModelCall } from '../../session/records.ts'
import type { Point, SessionState } from '../../session/state.ts'
import { recordUsage } from '../../session/usage.ts'
import { Handle, type Make } from '../../store/handle.ts'
import { admit, admitAmount, admitText } from '../../store/messages/admission.ts'
import type { StoreParts } from '../../store/parts.ts'
import { Session } from '../../store/session.ts'
import { type Batch, Batches, usageOf } from './batches.ts'
import type { Ledger } from './ledger.ts'
import { sharedWith } from './lineage.ts'
import { Draft, type ImportedSession } from './report.ts'

/** So many items are held back until it is told what session they belong to. */
const HELD_ITEMS = 512
/** So many entries go into one record. */
const ENTRIES = 256

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
  readonly #held: Ready[] = []
  #heldCount = 0
  readonly #keys = new ContentIds()
  /** Ids that this source has had, where nothing is written. */
  readonly #seen = new Set<string>()
  #handle: Handle
  #batches: Batches | undefined
  #entries: EntryItem[] = []
  #entryBytes = 0
  /** Models that were called, of which a session counts so many. */
  readonly #models = new Set<string>()
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

  async take(item: Ready): Promise<void> {
    if (item.kind === 'damage') this.report.addDamage(item.place, item.reason)
    else if (item.kind === 'healed') this.report.healed.push(item.what)
    else if (item.kind === 'suspect') this.report.addSuspect(item.first, item.second)
    else if (item.kind === 'refused') this.#refused(item.reason, item.recovered)
    else if (item.kind === 'session') return
    else if (this.#batches !== undefined) await this.#carryOut(item)
    else {
      this.#held.push(item)
      this.#heldCount += item.kind === 'messages' ? item.ids.length : 1
      if (this.#heldCount >= HELD_ITEMS) await this.open()
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
    const isFork = await this.#settle(this.#heldMessages())
    this.#batches = new Batches(this.#handle, this.report, isFork)
    this.#options.called.set(this.#begin.session, { id: this.id, seen: this.#seen })
    for (const item of this.#held.splice(0)) await this.#carryOut(item)
  }

  /** The ids of the messages that are held back. */
  #heldMessages(): string[] {
    return this.#held.flatMap((item) => (item.kind === 'messages' ? item.ids : []))
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
      for (const { model } of state.usage) this.#models.add(model)
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
      const message = parent.kind === 'fork' ? await sharedWith(from, parent, this.#heldMessages()) : undefined
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

  async #carryOut(item: Ready): Promise<void> {
    if (this.#closed) return
    if (item.kind === 'messages') await this.#addMessages(item)
    else if (this.#options.dryRun || !this.#own) return
    else if (item.kind === 'entry' && !this.#isExport) {
      this.#entries.push(item)
      this.#entryBytes += item.length ?? 0
      if (this.#entries.length >= ENTRIES || this.#entryBytes >= BATCH_BYTES) await this.#putEntries()
    } else {
      await this.#flush()
      await this.#attempt(item)
    }
  }

  async #addMessages(run: ReadyMessages): Promise<void> {
    this.report.recovered += run.recovered
    this.report.skipped += run.repeated
    const admitted = { ...this.#admittedMessages(run), release: run.release }
    if (admitted.messages.length === 0) {
      run.release?.()
      return
    }
    const after = run.after === undefined && this.#begin.exact === true ? this.#last : run.after
    this.#last = admitted.messages.at(-1)?.id
    if (this.#options.dryRun) {
      await this.#countOnly(admitted.messages)
      run.release?.()
    } else await this.#batches?.add({ ...admitted, after })
  }

  #admittedMessages(run: ReadyMessages): Omit<Batch, 'after'> {
    const { parts } = this.#options
    const messages = messagesOf(run)
    const usage = this.#counted(run.usage)
    if (parts.beforeAppend === undefined) return { messages, bytes: run.bytes, tokens: run.tokens, usage }
    const admitted = messages.map((message) => {
      try {
        return { ...message, text: admitText(parts, this.id, message.text) }
      } catch (error) {
        this.#tell(error, `The message "${message.id}"`)
        return undefined
      }
    })
    const kept = admitted.filter((message) => message !== undefined)
    return { messages: kept, usage: usageOf(kept, admitted, usage) }
  }

  /** What calls took, of as many models as a session counts. */
  #counted<Call extends ModelCall>(usage: readonly Call[]): readonly Call[] {
    if (!this.#own) return []
    const counted = usage.filter(({ model }) => {
      if (this.#models.size < LIMITS.models) this.#models.add(model)
      return this.#models.has(model)
    })
    const left = usage.length - counted.length
    if (left > 0) this.#refused(`The usage of ${left} calls cannot be kept: a session counts ${LIMITS.models} models.`, false)
    return counted
  }

  #refused(reason: string, recovered: boolean): void {
    if (recovered) this.report.recovered++
    this.report.addDamage({ file: this.#options.source, line: null, offset: 0, length: 0 }, reason)
  }

  async #countOnly(messages: readonly ReadyMessage[]): Promise<void> {
    const known = await (this.#batches as Batches).known(messages.map(({ id }) => id))
    const parent = this.#begin.parent === undefined ? undefined : this.#options.called.get(this.#begin.parent.session)
    for (const [index, { id }] of messages.entries()) {
      if (known[index] !== undefined || this.#seen.has(id) || parent?.seen.has(id) === true) this.report.skipped++
      else this.report.messages++
      this.#seen.add(id)
    }
  }

  async #flush(): Promise<void> {
    await this.#batches?.flush()
    await this.#putEntries()
  }

  async #putEntries(): Promise<void> {
    const entries = this.#entries
    this.#entries = []
    this.#entryBytes = 0
    if (entries.length === 0 || this.#closed) return
    const known = await this.#handle.held.replica.find(entries.map(({ channel, key }) => entryKey(channel, key)))
    const fresh = entries.filter(({ key }, index) => known[index] === undefined && entries.findIndex((one) => one.key === key) === index)
    const values = fresh.map((entry) => ({ channel: entry.channel, key: entry.key, value: this.#admitted('entry', entry).value ?? null }))
    try {
      if (values.length > 0) await this.#submit({}, (full) => decide.putEntries(full, values))
    } catch (error) {
      // One that is too much for a record costs itself.
      for (const value of values.length === 1 ? [] : values)
        await this.#submit({}, (full) => decide.putEntries(full, [value])).catch((why: unknown) =>
          this.#tell(why, `The record "${value.key}"`),
        )
      if (values.length === 1) this.#tell(error, `The record "${values[0]?.key}"`)
    }
  }

  /** Carries out something that is no message. What cannot be is told, and costs itself. */
  async #attempt(item: Exclude<Ready, ReadyMessages>): Promise<void> {
    try {
      await this.#perform(item)
    } catch (error) {
      this.#tell(error, `A ${item.kind}`)
    }
  }

  async #perform(item: Exclude<Ready, ReadyMessages>): Promise<void> {
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
        return this.#under(item, (terms) => recordUsage(terms, { model, inputTokens, outputTokens }), item.key)
      }
      case 'share': {
        const { share, digest: token, expiresAt, redact } = item
        const granted = { share, token, expiresAt, ...(redact === true ? { redact } : {}) }
        return this.#under(item, (terms) => decide.share(terms, granted))
      }
      case 'replacement': {
        const text = admitText(this.#options.parts, this.id, objectText('The message', item.message))
        const replacement = { id: item.id, text, at: item.at ?? null }
        await this.#batches?.replace(replacement, this.#isExport ? this.#keyOf(item) : undefined)
        const calls = this.#counted(item.usage === undefined ? [] : [item.usage])
        for (const call of calls) await this.#batches?.recordUsage(replacement, call)
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
    const number = (await this.#handle.state()).archives.find((archive) => archive.task === task)?.number
    if (retracted === true && number !== undefined) await this.#submit({}, (terms) => archives.retract(terms, number))
  }

  async #pointOf(id: string | null): Promise<Point> {
    if (id === null) return { at: null, n: 0, t: 0 }
    return (await this.#handle.locate(id)).point
  }

  /** Under a key that is made from what the item says. */
  async #under(item: Ready, make: Make, name?: string): Promise<void> {
    await this.#submit({ ...this.#keyOf(item, name), at: 'at' in item ? item.at : undefined }, make)
  }

  #keyOf(item: Ready, name?: string): { key: string; digest: string } {
    const id = name === undefined ? this.#keys.next(item as unknown as JsonObject) : digest(name)
    return { key: `import:${item.kind}:${id}`, digest: digest(`${item.kind} ${id}`) }
  }

  #admitted<T extends object>(kind: 'entry' | 'description' | 'summary', value: T): T {
    return admit(this.#options.parts, this.id, kind, value)
  }

  async #submit(terms: Terms, make: Make): Promise<void> {
    await this.#handle.submit(terms, make)
  }

  /** Something that this store cannot take. Whatever else goes wrong ends the import. */
  #tell(error: unknown, what: string): void {
    const refused = ['INVALID_ARGUMENT', 'PAYLOAD_TOO_LARGE', 'CONFLICT', 'NOT_FOUND', 'DAMAGED']
    if (!(error instanceof HoldfastError) || !refused.includes(error.code)) throw error
    this.#refused(`${what} cannot be kept: ${error.message}`, false)
  }
}
