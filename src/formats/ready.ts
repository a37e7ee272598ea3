/**
 * What is made of items before they are written, as far as that needs no store: messages as JSON, in the bytes that will stand in the journal,
 * with what tells them, many together. It is most of the work of an import, and may be done by another thread: what comes out is plain data.
 */

import { HoldfastError } from '../errors.ts'
import { estimateTokens, estimateTokensOfPlain } from '../message/tokens.ts'
import { checkId, checkJson, checkLength, objectText } from '../session/check.ts'
import { JsonText } from '../session/json-text.ts'
import type { MessageUsage } from '../session/records.ts'
import type { Importer, Item, MessageItem, Source } from './item.ts'
import { Suspects } from './suspects.ts'
import { asCount, asTime, callOf, digest } from './values.ts'

/** One record of messages: large enough for speed, small enough to share a group with others. */
const BATCH_MESSAGES = 256
export const BATCH_BYTES = 192 * 1024
/** What is taken for the messages of one, with the comma that stands between them and the next. */
export const BATCH_MEMORY_BYTES = BATCH_BYTES + 1

/** Messages of one session, one behind the other. */
export interface ReadyMessages {
  readonly kind: 'messages'
  readonly session: string
  /** The message that the first one follows, if that is not the one before it; null: it is a first one. */
  readonly after: string | null | undefined
  readonly ids: readonly string[]
  /** When each was said; null where nobody knows. */
  readonly times: readonly (string | null)[]
  /** The digests of the messages, one behind the other. */
  readonly digests: string
  /** The messages as JSON, with a comma between them, and where each ends. */
  readonly bytes: Uint8Array
  readonly ends: readonly number[]
  readonly tokens: number
  readonly usage: readonly MessageUsage[]
  /** How many come from damaged places, and how many stood there twice, one behind the other. */
  readonly recovered: number
  readonly repeated: number
  /** To be called when the bytes are durable and nobody looks at them any more: then their memory serves again. */
  readonly release?: () => void
}

/** One of them. */
export interface ReadyMessage {
  readonly id: string
  readonly text: JsonText
  readonly at: string | null
}

/** A message that says the same as another one did seconds before. */
interface SuspectItem {
  readonly kind: 'suspect'
  readonly session: string
  readonly first: string
  readonly second: string
}

/** A message that no store can take. */
interface RefusedItem {
  readonly kind: 'refused'
  readonly session: string
  readonly reason: string
  readonly recovered: boolean
}

export type Ready = Exclude<Item, MessageItem> | ReadyMessages | SuspectItem | RefusedItem

/** What has no place among messages: it may come behind those that stand behind it. */
const BESIDE = new Set<Ready['kind']>(['entry', 'damage', 'healed', 'suspect', 'refused'])

/**
 * A source as it is written, in bunches. Of an export, each item stands where it stood; otherwise only messages and what points at them do. `spare`: memory of
 * `BATCH_MEMORY_BYTES` that others no longer need, which is used first.
 */
export async function* readied(importer: Importer, source: Source, spare: ArrayBuffer[] = []): AsyncGenerator<Ready[]> {
  const suspects = new Suspects()
  const bunch = new Bunch(importer.name === 'holdfast', spare)
  for await (const read of importer.read(source)) {
    for (const item of 'kind' in read ? [read] : read) {
      if (item.kind !== 'message') bunch.add(timed(item))
      else addMessage(bunch, timed(item), suspects)
      if (bunch.isFull) yield bunch.taken()
    }
  }
  const rest = bunch.taken()
  if (rest.length > 0) yield rest
}

function addMessage(bunch: Bunch, item: MessageItem, suspects: Suspects): void {
  const { session, id, recovered = false } = item
  try {
    checkId('The id of a message', id)
    bunch.addMessage(madeOf(item))
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error
    bunch.add({ kind: 'refused', session, reason: `The message "${id}" cannot be kept: ${error.message}`, recovered })
    return
  }
  const first = suspects.look(item)
  if (first !== undefined) bunch.add({ kind: 'suspect', session, first, second: id })
}

/** A message with its JSON. Half of a surrogate pair cannot be stored: then its text and its digest are others than its importer has made. */
function madeOf(item: MessageItem): Made {
  const { text, pieces, digest: sum } = item
  if (pieces !== undefined) {
    const length = pieces.reduce((of, piece) => of + piece.length, 0)
    checkLength('The message', length)
    return { item, length, text: '', pieces, digest: sum }
  }
  if (text === undefined || text.includes('\\ud')) {
    const { text: own } = objectText('The message', item.message)
    return { item, length: own.length, text: own, pieces, digest: undefined }
  }
  checkJson('The message', text)
  return { item, length: text.length, text, pieces, digest: sum }
}

interface Made {
  readonly item: MessageItem
  /** In characters. */
  readonly length: number
  /** Unless it is there in pieces. */
  readonly text: string
  readonly pieces: readonly Uint8Array[] | undefined
  readonly digest: string | undefined
}

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Moments as records write them: they stand in a line as they are, and importers may be somebody's own. */
function timed<T extends Item>(item: T): T {
  if (!('at' in item) || item.at === undefined || MOMENT.test(item.at)) return item
  return { ...item, at: asTime(item.at) }
}

const COMMA = 0x2c
/** The longest text that is sure to fit has a third of it as characters. */
const LEAST_ROOM = 3

class Bunch {
  readonly #ordered: boolean
  #ready: Ready[] = []
  #beside: Ready[] = []
  readonly #spare: ArrayBuffer[]
  #run: Run
  /** Of everything that is no message. */
  #bytes = 0

  constructor(ordered: boolean, spare: ArrayBuffer[]) {
    this.#ordered = ordered
    this.#spare = spare
    this.#run = new Run('', undefined, spare)
  }

  get isFull(): boolean {
    return this.#bytes + this.#run.length >= BATCH_BYTES || this.#run.count + this.#ready.length + this.#beside.length >= BATCH_MESSAGES
  }

  add(item: Exclude<Ready, ReadyMessages>): void {
    this.#bytes += item.kind === 'entry' ? (item.length ?? 0) : item.kind === 'damage' ? item.bytes.length : 0
    if (!this.#ordered && BESIDE.has(item.kind)) this.#beside.push(item)
    else {
      this.#close()
      this.#ready.push(item)
    }
  }

  addMessage(made: Made): void {
    const { session, after } = made.item
    const { length, pieces } = made
    const fits = this.#run.length + (pieces === undefined ? LEAST_ROOM : 1) * length <= BATCH_BYTES || this.#run.count === 0
    if (after !== undefined || session !== this.#run.session || !fits) {
      this.#close()
      this.#run = new Run(session, after, this.#spare)
    }
    this.#run.add(made)
  }

  taken(): Ready[] {
    this.#close()
    const ready = this.#ready
    this.#ready = []
    this.#bytes = 0
    return ready
  }

  #close(): void {
    if (this.#run.count > 0) this.#ready.push(this.#run.taken())
    this.#ready.push(...this.#beside)
    this.#run = new Run(this.#run.session, undefined, this.#spare)
    this.#beside = []
  }
}

const NO_BYTES = Buffer.alloc(0)
/** Of a digest. */
const DIGITS = 32

class Run {
  readonly session: string
  readonly #after: string | null | undefined
  readonly #spare: ArrayBuffer[]
  readonly #known = new Set<string>()
  readonly #ids: string[] = []
  readonly #times: (string | null)[] = []
  readonly #ends: number[] = []
  readonly #usage: MessageUsage[] = []
  #digests = NO_BYTES
  #bytes = NO_BYTES
  #tokens = 0
  #recovered = 0
  #repeated = 0
  length = 0

  constructor(session: string, after: string | null | undefined, spare: ArrayBuffer[]) {
    this.session = session
    this.#after = after
    this.#spare = spare
  }

  get count(): number {
    return this.#ids.length
  }

  add({ item: { id, at, recovered, usage }, length, text, pieces, digest: sum }: Made): void {
    if (recovered === true) this.#recovered++
    // Twice in one source, one behind the other: it is one message.
    if (this.#known.size === this.#known.add(id).size) {
      this.#repeated++
      return
    }
    this.#makeRoom(this.length + 1 + (pieces === undefined ? LEAST_ROOM : 1) * length)
    if (this.length > 0) this.#bytes[this.length++] = COMMA
    const from = this.length
    if (pieces === undefined) this.length += this.#bytes.write(text, this.length)
    else {
      for (const piece of pieces) {
        this.#bytes.set(piece, this.length)
        this.length += piece.length
      }
    }
    const index = this.count
    const call = usage === undefined ? undefined : callOf(usage.model, asCount(usage.inputTokens), asCount(usage.outputTokens))
    if (call !== undefined) this.#usage.push({ index, ...call })
    this.#ids.push(id)
    this.#times.push(at ?? null)
    this.#ends.push(this.length)
    this.#digests.write(sum ?? digest(this.#bytes.subarray(from, this.length)), DIGITS * index, DIGITS, 'latin1')
    this.#tokens += pieces === undefined ? estimateTokens(text, this.length - from) : estimateTokensOfPlain(length)
  }

  taken(): ReadyMessages {
    return {
      kind: 'messages',
      session: this.session,
      after: this.#after,
      ids: this.#ids,
      times: this.#times,
      digests: this.#digests.toString('latin1', 0, DIGITS * this.count),
      bytes: this.#bytes.subarray(0, this.length),
      ends: this.#ends,
      tokens: this.#tokens,
      usage: this.#usage,
      recovered: this.#recovered,
      repeated: this.#repeated,
    }
  }

  #makeRoom(length: number): void {
    if (length <= this.#bytes.length) return
    if (this.#bytes === NO_BYTES) this.#digests = Buffer.allocUnsafe(DIGITS * BATCH_MESSAGES)
    // Memory of its own, which can be handed to another thread.
    const used = length <= BATCH_MEMORY_BYTES ? this.#spare.pop() : undefined
    const grown = used === undefined ? Buffer.allocUnsafeSlow(Math.max(length, BATCH_MEMORY_BYTES)) : Buffer.from(used)
    this.#bytes.copy(grown, 0, 0, this.length)
    this.#bytes = grown
  }
}

/** The messages one by one, each read from the bytes when somebody wants to see it. */
export function messagesOf({ ids, times, digests, bytes, ends }: ReadyMessages): ReadyMessage[] {
  return ids.map((id, index) => {
    const from = index === 0 ? 0 : (ends[index - 1] as number) + 1
    const text = new JsonText(
      () => Buffer.from(bytes.buffer, bytes.byteOffset + from, (ends[index] as number) - from),
      digests.slice(DIGITS * index, DIGITS * (index + 1)),
    )
    return { id, text, at: times[index] ?? null }
  })
}

/** For another thread: what is handed over instead of copied, and nothing that takes a larger buffer along. */
export function portable(items: readonly Ready[]): { readonly items: Ready[]; readonly memory: ArrayBuffer[] } {
  const own = items.map((item) => (item.kind === 'damage' ? { ...item, bytes: new Uint8Array(item.bytes) } : item))
  return { items: own, memory: own.flatMap((item) => (item.kind === 'messages' ? [item.bytes.buffer as ArrayBuffer] : [])) }
}
