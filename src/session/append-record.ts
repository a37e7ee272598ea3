/**
 * The record of an append: its payload, and the same payload as JSON text. Every message needs one, so nothing in it is made into text
 * twice: messages arrive as text or as bytes, and the text of a run is kept.
 */
import type { HoldfastError } from '../errors.ts'
import type { Draft, JsonObject } from '../record/record.ts'
import { isTip, samePoint } from './branch.ts'
import type { Terms } from './command.ts'
import type { JsonText } from './json-text.ts'
import type { Entry, EntryPut, MessagesAppended, MessageUsage } from './records.ts'
import type { Point, Run, SessionState } from './state.ts'

/** What a caller appends in one record. */
export interface NewMessages {
  readonly messages: readonly JsonText[]
  /** The message ids that the caller chose; null where it chose none. */
  readonly ids?: readonly (string | null)[] | undefined
  /** The messages as the record has them, with commas between them, if the caller has made these bytes already. */
  readonly bytes?: Uint8Array | undefined
  readonly tokens: number
  /** Of imported messages: when each was said. */
  readonly times?: readonly (string | null)[] | undefined
  /** What the model calls took that the messages came from. */
  readonly usage?: readonly MessageUsage[] | undefined
  /** The message that the first one follows. Defaults to the head. */
  readonly parent?: Point | undefined
  /** Entries to put in the same record. */
  readonly entries?: readonly Entry[] | undefined
  /** Refuses the append if the session has changed since the caller read it. */
  readonly guard?: ((state: SessionState) => HoldfastError | undefined) | undefined
}

/** Where the messages of a batch go in a session. */
export interface AppendPlace {
  /** The message that the first one follows. */
  readonly follows: Point
  /** The run that they continue; undefined if they begin one. */
  readonly run: Run | undefined
  /** Where the head was, if they do not follow it. */
  readonly left: Point | undefined
  /** For each channel of the entries, the record with the entries before. */
  readonly before: EntryPut['before'] | undefined
}

export function placeOf(state: SessionState, { parent: follows = state.head, entries }: NewMessages): AppendPlace {
  return {
    follows,
    run: isTip(state, follows.at) ? state.runs.at(-1) : undefined,
    left: samePoint(follows, state.head) ? undefined : state.head,
    before: entries === undefined ? undefined : entriesBefore(state, entries),
  }
}

export function entriesBefore({ channels }: SessionState, entries: readonly Entry[]): EntryPut['before'] {
  return channelsOf(entries).map((name) => [name, channels.find((channel) => channel.name === name)?.last ?? null])
}

/** The channels of some entries, each once. */
export function channelsOf(entries: readonly Entry[]): string[] {
  return [...new Set(entries.map(({ channel }) => channel))]
}

/** The messages of a batch with commas between them: the bytes that the caller has, or else text. */
export function messagesText({ messages, bytes }: NewMessages): string | Uint8Array {
  if (bytes !== undefined) return bytes
  // One alone is not copied.
  return messages.length === 1 ? (messages[0] as JsonText).text : messages.map(({ text }) => text).join(',')
}

/** The payload and its text. `messages` is the text of the messages: it is the same wherever the batch goes. */
export function appendRecord(
  batch: NewMessages,
  messages: string | Uint8Array,
  { follows: { n, t }, run, left, before }: AppendPlace,
  { key, digest }: Terms,
): Pick<Draft, 'payload' | 'text'> {
  const { ids, tokens, times, usage, entries } = batch
  const payload: { [field: string]: unknown } = { messages: batch.messages, n, t, tokens }
  let rest = `],"n":${n},"t":${t},"tokens":${tokens}`
  const add = (field: keyof MessagesAppended, value: unknown, text = JSON.stringify(value)): void => {
    payload[field] = value
    rest += `,"${field}":${text}`
  }
  if (run !== undefined) add('run', run, runText(run))
  if (ids?.some((id) => id !== null) === true) add('ids', ids)
  if (times !== undefined) add('times', times)
  if (usage !== undefined) add('usage', usage)
  if (left !== undefined) add('left', left)
  if (entries !== undefined) add('entries', entries)
  if (before !== undefined) add('before', before)
  if (key !== undefined) {
    add('key', key)
    add('digest', digest)
  }
  rest += '}'
  const text = typeof messages === 'string' ? `{"messages":[${messages}${rest}` : (['{"messages":[', messages, rest] as const)
  return { payload: payload as JsonObject, text }
}

const runTexts = new WeakMap<Run, string>()

/** Every message of a run says the same about it. */
function runText(run: Run): string {
  const known = runTexts.get(run)
  if (known !== undefined) return known
  const text = JSON.stringify(run)
  runTexts.set(run, text)
  return text
}
