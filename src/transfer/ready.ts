/**
 * What is made of items before they are written, as far as that needs no store: messages as JSON, in the bytes that will stand in the journal,
 * with what tells them, many together. It is most of the work of an import, and may be done by another thread: what comes out is plain data.
 */
import { estimateTokens } from '../dialect/tokens.ts'
import { HoldfastError } from '../errors.ts'
import { hashKey, type KeyHash } from '../record/keys.ts'
import { checkId, checkJson, objectText } from '../session/check.ts'
import { JsonText } from '../session/json-text.ts'
import type { Importer, Item, MessageItem, Source, UsageItem } from './item.ts'
import { Suspects } from './suspects.ts'
import { asTime, digest } from './values.ts'

/** One record of messages: large enough for speed, small enough to share a group with others. */
const BATCH_MESSAGES = 256
export const BATCH_BYTES = 192 * 1024

/** Messages of one session, one behind the other. */
export interface ReadyMessages {
  readonly kind: 'messages'
  readonly session: string
  /** The message that the first one follows, if that is not the one before it; null: it is a first one. */
  readonly after: string | null | undefined
  readonly ids: readonly string[]
  /** When each was said; null where nobody knows. */
  readonly times: readonly (string | null)[]
  /** What `hashKey` makes of the ids, and the digests of the messages: 32 digits each, one behind the other. */
  readonly keys: string
  readonly digests: string
  /** The messages as JSON, with a comma between them, and where each ends. */
  readonly bytes: Uint8Array
  readonly ends: readonly number[]
  readonly tokens: number
  /** How many come from damaged places, and how many stood there twice, one behind the other. */
  readonly recovered: number
  readonly repeated: number
}

/** Calls to models in one session, each with what tells it from others: as lists, which take a fraction of the time of objects on their way to another thread. */
export interface ReadyUsages {
  readonly kind: 'usages'
  readonly session: string
  readonly keys: string[]
  readonly models: string[]
  readonly inputTokens: number[]
  readonly outputTokens: number[]
  readonly times: (string | undefined)[]
}

/** One of them. */
export interface ReadyMessage {
  readonly id: string
  readonly key: KeyHash
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

export type Ready = Exclude<Item, MessageItem> | ReadyMessages | ReadyUsages | SuspectItem | RefusedItem

/** What has no place among messages: it may come behind those that stand behind it. */
const BESIDE = new Set<Ready['kind']>(['entry', 'damage', 'healed', 'suspect', 'refused'])

/** A source as it is written, in bunches. Of an export, each item stands where it stood; otherwise only messages and what points at them do. */
export async function* readied(importer: Importer, source: Source): AsyncGenerator<Ready[]> {
  const suspects = new Suspects()
  const bunch = new Bunch(importer.name === 'holdfast')
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
  const { text } = item
  if (text === undefined || text.includes('\\ud'))
    return { item, text: objectText('The message', item.message).text, bytes: undefined, digest: undefined }
  checkJson('The message', text)
  return { item, text, bytes: item.bytes, digest: item.digest }
}

interface Made {
  readonly item: MessageItem
  readonly text: string
  readonly bytes: Uint8Array | undefined
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
  #run = new Run('', undefined)
  #usages: ReadyUsages | undefined
  /** Calls to models: they need no order, but where that of an export is kept. */
  #calls = 0
  /** Of everything that is no message. */
  #bytes = 0

  constructor(ordered: boolean) {
    this.#ordered = ordered
  }

  get isFull(): boolean {
    return (
      this.#bytes + this.#run.length >= BATCH_BYTES ||
      this.#run.count + this.#calls + this.#ready.length + this.#beside.length >= BATCH_MESSAGES
    )
  }

  add(item: Exclude<Ready, ReadyMessages>): void {
    if (item.kind === 'usage' && !this.#ordered) {
      this.#addCall(item)
      return
    }
    this.#bytes += item.kind === 'entry' ? (item.length ?? 0) : item.kind === 'damage' ? item.bytes.length : 0
    if (!this.#ordered && BESIDE.has(item.kind)) this.#beside.push(item)
    else {
      this.#close()
      this.#ready.push(item)
    }
  }

  #addCall({ session, key, model, inputTokens, outputTokens, at }: UsageItem): void {
    if (this.#usages?.session !== session) {
      this.#usages = { kind: 'usages', session, keys: [], models: [], inputTokens: [], outputTokens: [], times: [] }
      this.#beside.push(this.#usages)
    }
    this.#usages.keys.push(key)
    this.#usages.models.push(model)
    this.#usages.inputTokens.push(inputTokens)
    this.#usages.outputTokens.push(outputTokens)
    this.#usages.times.push(at)
    this.#calls++
  }

  addMessage(made: Made): void {
    const { session, after } = made.item
    const { length } = made.text
    const fits = this.#run.length + LEAST_ROOM * length <= BATCH_BYTES || this.#run.count === 0
    if (after !== undefined || session !== this.#run.session || !fits) {
      this.#close()
      this.#run = new Run(session, after)
    }
    this.#run.add(made)
  }

  taken(): Ready[] {
    this.#close()
    const ready = this.#ready
    this.#ready = []
    this.#bytes = 0
    this.#calls = 0
    return ready
  }

  #close(): void {
    if (this.#run.count > 0) this.#ready.push(this.#run.taken())
    this.#ready.push(...this.#beside)
    this.#run = new Run(this.#run.session, undefined)
    this.#beside = []
    this.#usages = undefined
  }
}

class Run {
  readonly session: string
  readonly #after: string | null | undefined
  readonly #known = new Set<string>()
  readonly #ids: string[] = []
  readonly #times: (string | null)[] = []
  readonly #ends: number[] = []
  #keys = ''
  #digests = ''
  #bytes = Buffer.alloc(0)
  #tokens = 0
  #recovered = 0
  #repeated = 0
  length = 0

  constructor(session: string, after: string | null | undefined) {
    this.session = session
    this.#after = after
  }

  get count(): number {
    return this.#ids.length
  }

  add({ item: { id, at, recovered }, text, bytes, digest: sum }: Made): void {
    if (recovered === true) this.#recovered++
    // Twice in one source, one behind the other: it is one message.
    if (this.#known.size === this.#known.add(id).size) {
      this.#repeated++
      return
    }
    this.#makeRoom(this.length + 1 + (bytes?.length ?? LEAST_ROOM * text.length))
    if (this.length > 0) this.#bytes[this.length++] = COMMA
    const from = this.length
    if (bytes === undefined) this.length += this.#bytes.write(text, this.length)
    else {
      this.#bytes.set(bytes, this.length)
      this.length += bytes.length
    }
    this.#ids.push(id)
    this.#times.push(at ?? null)
    this.#ends.push(this.length)
    this.#keys += hashKey('message', id)
    this.#digests += sum ?? digest(this.#bytes.subarray(from, this.length))
    this.#tokens += estimateTokens(text, this.length - from)
  }

  taken(): ReadyMessages {
    return {
      kind: 'messages',
      session: this.session,
      after: this.#after,
      ids: this.#ids,
      times: this.#times,
      keys: this.#keys,
      digests: this.#digests,
      bytes: this.#bytes.subarray(0, this.length),
      ends: this.#ends,
      tokens: this.#tokens,
      recovered: this.#recovered,
      repeated: this.#repeated,
    }
  }

  #makeRoom(length: number): void {
    if (length <= this.#bytes.length) return
    // Memory of its own, which can be handed to another thread.
    const grown = Buffer.allocUnsafeSlow(Math.max(length, BATCH_BYTES + 1))
    this.#bytes.copy(grown, 0, 0, this.length)
    this.#bytes = grown
  }
}

/** The messages one by one, each read from the bytes when somebody wants to see it. */
export function messagesOf({ ids, times, keys, digests, bytes, ends }: ReadyMessages): ReadyMessage[] {
  return ids.map((id, index) => {
    const digits = 32 * index
    const from = index === 0 ? 0 : (ends[index - 1] as number) + 1
    const text = new JsonText(
      () => Buffer.from(bytes.buffer, bytes.byteOffset + from, (ends[index] as number) - from),
      digests.slice(digits, digits + 32),
    )
    return { id, key: keys.slice(digits, digits + 32), text, at: times[index] ?? null }
  })
}

/** For another thread: what is handed over instead of copied, and nothing that takes a larger buffer along. */
export function portable(items: readonly Ready[]): { readonly items: Ready[]; readonly memory: ArrayBuffer[] } {
  const own = items.map((item) => (item.kind === 'damage' ? { ...item, bytes: new Uint8Array(item.bytes) } : item))
  return { items: own, memory: own.flatMap((item) => (item.kind === 'messages' ? [item.bytes.buffer as ArrayBuffer] : [])) }
}
