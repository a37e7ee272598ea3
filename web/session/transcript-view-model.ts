/**
 * The messages of one session, as far as somebody has looked: a message is known by its depth on the branch, so the whole length can be
 * scrolled, and pages are read where the eye is. What happens meanwhile is applied as it comes. Far away pages are forgotten, so
 * that memory does not grow with the length of a session or the time that it is watched.
 */
import { type MessageView, type RemoteSession, viewOf } from 'holdfast/client'

export type StoredMessage = Awaited<ReturnType<RemoteSession['messages']>>['messages'][number]
type Change = Awaited<ReturnType<ReturnType<RemoteSession['follow']>['next']>>['value']
type ToolResult = MessageView['results'][number]

export const PAGE = 100
/** Messages that are kept, at most and a little more. */
const KEPT = 5000
/** Changes are shown this often at most. */
const TELL_MS = 80

/** Reads a page of messages from a depth on, or the last ones. */
export type ReadPage = (depth: number | undefined) => Promise<{ readonly messages: readonly StoredMessage[]; readonly more: boolean }>

export class TranscriptViewModel {
  readonly #read: ReadPage
  readonly #listeners = new Set<() => void>()
  readonly #messages = new Map<number, StoredMessage>()
  /** Pages of which all that can be read is there. */
  readonly #known = new Set<number>()
  readonly #reading = new Set<number>()
  readonly #results = new Map<string, { readonly depth: number; readonly result: ToolResult }>()
  readonly #calls = new Map<string, number>()
  readonly #views = new WeakMap<object, MessageView>()
  /** Counts the calls of `open`: only the last one counts. */
  #opening = 0
  /** Counts the changes that make pages wrong if they were asked for before. */
  #generation = 0
  /** What was appended since the last page was asked for, while it is read. */
  #meanwhile: NonNullable<Change>[] | undefined
  #telling: ReturnType<typeof setTimeout> | undefined
  #toldMs = Number.NEGATIVE_INFINITY
  #wanted: { readonly from: number; readonly to: number } | undefined
  /** Changes with every change of anything below. */
  version = 0
  /** How many messages lead to the last one. */
  total = 0
  isOpen = false
  error: unknown

  constructor(read: ReadPage) {
    this.#read = read
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Reads the last page, and so how many there are. */
  async open(): Promise<void> {
    const opening = ++this.#opening
    this.#generation++
    // What is appended from here on may be newer than the answer.
    const meanwhile: NonNullable<Change>[] = []
    this.#meanwhile = meanwhile
    try {
      const { messages } = await this.#read(undefined)
      if (opening !== this.#opening) return
      const last = messages.at(-1)?.depth ?? 0
      if (last < this.total) this.#forgetBehind(last)
      this.#known.clear()
      this.total = last
      for (const message of messages) this.#put(message)
      const [first] = messages
      const whole = Math.ceil(((first?.depth ?? 1) - 1) / PAGE)
      for (let page = whole; page <= Math.floor((last - 1) / PAGE); page++) this.#known.add(page)
      this.error = undefined
      this.isOpen = true
      for (const change of meanwhile) this.#append(change)
      this.#readWanted()
    } catch (error) {
      if (opening !== this.#opening) return
      this.error = error
    } finally {
      if (this.#meanwhile === meanwhile) this.#meanwhile = undefined
    }
    this.tell()
  }

  /** Opens the session and shows what changes. `onChange` is called after each change. */
  async follow(changes: AsyncIterable<NonNullable<Change>>, onChange: () => void): Promise<void> {
    // The stream is open already: a change between the two is in both, and applying it twice changes nothing.
    await this.open()
    for await (const change of changes) {
      this.apply(change)
      onChange()
    }
  }

  /** The message at a depth; null if it cannot be read, undefined if it was not read yet. */
  at(depth: number): StoredMessage | null | undefined {
    const message = this.#messages.get(depth)
    if (message !== undefined) return message
    return this.#known.has(pageOf(depth)) ? null : undefined
  }

  /** Reads what is missing between two depths, and forgets what is far from there. */
  want(from: number, to: number): void {
    this.#wanted = { from, to }
    this.#readWanted()
  }

  #readWanted(): void {
    if (this.#wanted === undefined) return
    const { from, to } = this.#wanted
    for (let page = pageOf(Math.max(from, 1)); page <= pageOf(Math.min(to, this.total)); page++) void this.#readPage(page)
  }

  async #readPage(page: number): Promise<void> {
    if (this.#known.has(page) || this.#reading.has(page)) return
    this.#reading.add(page)
    const generation = this.#generation
    try {
      // Large messages come in several answers.
      for (let depth: number | undefined = page * PAGE + 1; depth !== undefined && pageOf(depth) === page; ) {
        const { messages, more } = await this.#read(depth)
        if (generation !== this.#generation) return
        for (const message of messages) if (pageOf(message.depth) === page) this.#put(message)
        const next: number = (messages.at(-1)?.depth ?? 0) + 1
        depth = more && next > depth ? next : undefined
      }
      this.#known.add(page)
      this.#forgetFar()
    } catch (error) {
      this.error = error
    } finally {
      this.#reading.delete(page)
      // An answer from before a change may be wrong.
      if (generation !== this.#generation) this.#readWanted()
      this.tell()
    }
  }

  view(message: StoredMessage): MessageView {
    const known = this.#views.get(message.message)
    if (known !== undefined) return known
    const view = viewOf(message.message)
    this.#views.set(message.message, view)
    return view
  }

  /** The result of a call, if it was read. */
  resultOf(call: string): ToolResult | undefined {
    return this.#results.get(call)?.result
  }

  /** Whether a message is nothing but results that are shown with their calls. */
  isShownElsewhere(message: StoredMessage): boolean {
    const { results, text, calls, media } = this.view(message)
    if (results.length === 0 || text !== '' || calls.length > 0 || media.length > 0) return false
    return results.every(({ id }) => {
      const depth = this.#calls.get(id)
      return depth !== undefined && depth < message.depth && this.#messages.has(depth)
    })
  }

  /** Something happened to the session. */
  apply(change: NonNullable<Change>): void {
    if (change.type === 'messages.appended') this.#applyAppended(change)
    else if (change.type === 'message.replaced' || change.type === 'message.erased') this.#rereadAll()
    else if (/^(?:head\.moved|reset|session\.)/.test(change.type)) void this.open()
    this.#readWanted()
    this.tell()
  }

  #applyAppended(change: NonNullable<Change>): void {
    this.#meanwhile?.push(change)
    const isHole = this.isOpen && depthBefore(change) > this.total
    this.#append(change)
    if (isHole) void this.open()
  }

  #rereadAll(): void {
    this.#generation++
    this.#known.clear()
    // Its answer may be older than this change.
    if (this.#meanwhile !== undefined) void this.open()
  }

  #append(change: NonNullable<Change>): void {
    const { messages, at } = change
    const before = depthBefore(change)
    // After another message than the last one: the branch differs from here on.
    if (before < this.total) this.#forgetBehind(before)
    for (const [index, { id, message }] of messages.entries()) {
      const depth = before + index + 1
      if ((depth - 1) % PAGE === 0) this.#known.add(pageOf(depth))
      this.#put({ id, at, depth, archive: null, replaced: false, message })
    }
    this.total = before + messages.length
    this.#forgetFar()
  }

  #put(message: StoredMessage): void {
    this.#messages.set(message.depth, message)
    const { calls, results } = this.view(message)
    for (const { id } of calls) this.#calls.set(id, message.depth)
    for (const result of results) this.#results.set(result.id, { depth: message.depth, result })
  }

  #forgetBehind(depth: number): void {
    this.#generation++
    for (const known of this.#messages.keys()) if (known > depth) this.#forget(known)
    for (const page of this.#known) if (page > pageOf(depth)) this.#known.delete(page)
    this.#known.delete(pageOf(depth + 1))
  }

  /** What is far from where somebody looks, and from the end, where the next message comes. */
  #forgetFar(): void {
    if (this.#messages.size <= KEPT) return
    const { from, to } = this.#wanted ?? { from: this.total, to: this.total }
    const isNear = (page: number): boolean => (page >= pageOf(from) - 10 && page <= pageOf(to) + 10) || page >= pageOf(this.total) - 2
    for (const page of this.#known) if (!isNear(page)) this.#known.delete(page)
    for (const depth of this.#messages.keys()) if (!isNear(pageOf(depth))) this.#forget(depth)
  }

  #forget(depth: number): void {
    const message = this.#messages.get(depth)
    if (message === undefined) return
    this.#messages.delete(depth)
    const { calls, results } = this.view(message)
    for (const { id } of calls) if (this.#calls.get(id) === depth) this.#calls.delete(id)
    for (const { id } of results) if (this.#results.get(id)?.depth === depth) this.#results.delete(id)
  }

  tell(): void {
    const sinceMs = performance.now() - this.#toldMs
    this.#telling ??= setTimeout(
      () => {
        this.#telling = undefined
        this.#toldMs = performance.now()
        this.version++
        for (const listener of this.#listeners) listener()
      },
      Math.max(TELL_MS - sinceMs, 0),
    )
  }
}

/** How many messages lead to those that were appended. */
function depthBefore({ record }: NonNullable<Change>): number {
  return record.n as unknown as number
}

function pageOf(depth: number): number {
  return Math.floor((depth - 1) / PAGE)
}
