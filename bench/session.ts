/**
 * A session as a caller has it: a replica on the files engine, and messages that follow one another. Every record holds the key of its
 * message, which goes into the id files; `lookUp` says whether the key came from the caller, and must be looked up before deciding, or
 * was made for this very append.
 */
import { hash } from 'node:crypto'
import { systemClock } from '../src/engine/clock.ts'
import { systemIds } from '../src/engine/ids.ts'
import type { Engine, Journal } from '../src/engine/port.ts'
import { openFilesEngine } from '../src/engines/files/engine.ts'
import type { Reducer } from '../src/journal/reducer.ts'
import { Replica } from '../src/journal/replica.ts'
import type { Counted } from '../src/record/fold.ts'
import { hashKey } from '../src/record/key-hash.ts'
import type { Limits } from '../src/record/limits.ts'
import { encodeBody, Group } from '../src/record/line.ts'
import type { Address, JsonObject } from '../src/record/record.ts'

/** Length of a record line, up to a few digits of its position. */
export const RECORD_BYTES = 1024

interface State {
  readonly count: number
  readonly head: Address | null
}

const reducer: Reducer<State> = {
  initial: { count: 0, head: null },
  apply: (state, { record, at }) => (record.type === 'messages.appended' ? { count: state.count + 1, head: [at, 0] } : state),
  checkpoint: ({ count, head }) => ({ count, head }),
  restore: (checkpoint: JsonObject) => checkpoint as unknown as State,
  keysOf: ({ record, at, end, crc }: Counted) =>
    typeof record.key === 'string'
      ? [{ key: hashKey('message', record.key), at, length: end - at, crc, index: 0, digest: record.digest as string }]
      : [],
  keysFrom: () => 0,
}

export interface SessionOptions {
  readonly directory: string
  readonly id: string
  readonly limits?: Partial<Pick<Limits, 'syncWriteBytes'>>
  /** Puts something between the replica and its journal. */
  readonly wrap?: (journal: Journal) => Journal
}

export class Session {
  readonly #engine: Engine
  readonly #replica: Replica<State>

  private constructor(engine: Engine, replica: Replica<State>) {
    this.#engine = engine
    this.#replica = replica
  }

  static async open({ directory, id, limits = {}, wrap = (journal) => journal }: SessionOptions): Promise<Session> {
    const engine = await openFilesEngine({ directory, keysOf: reducer.keysOf, limits })
    const journal = wrap(engine.journal(engine.name('bench', id)))
    return new Session(engine, new Replica({ journal, reducer, clock: systemClock, ids: systemIds }))
  }

  /** How many messages there are. */
  async count(): Promise<number> {
    return (await this.#replica.read()).state.count
  }

  /** Appends one message; resolves with its position once it is durable. */
  append({ lookUp = false } = {}): Promise<number> {
    const key = systemIds.next(systemClock.now())
    const payload = message(key, lookUp)
    const hashed = lookUp ? hashKey('message', key) : undefined
    return this.#replica.submit({
      ...(hashed === undefined ? {} : { keys: [hashed] }),
      decide: ({ head }, known) => {
        const first = hashed === undefined ? undefined : known(hashed)
        if (first !== undefined) return { answer: first.at }
        const write = { type: 'messages.appended', payload, ...(head === null ? {} : { parent: head }) } as const
        return { write, answer: ({ at }) => at }
      },
    })
  }

  /** Many callers, each of which waits for its own message before the next, until there are `count` more. */
  async appendMany(count: number, callers: number): Promise<void> {
    let left = count
    const caller = async (): Promise<void> => {
      while (left-- > 0) await this.append()
    }
    await Promise.all(Array.from({ length: callers }, caller))
  }

  async close(): Promise<void> {
    await this.#replica.idle()
    await this.#engine.close()
  }
}

function message(key: string, given: boolean, text = TEXT): JsonObject {
  // A caller's key that comes again must come with the same body, so that is digested. Nobody can send a key that was made here before.
  return { key, digest: given ? hash('sha256', text, 'hex').slice(0, 32) : NO_DIGEST, role: 'assistant', text }
}

const NO_DIGEST = '0'.repeat(32)

const PROSE = 'The tide came in twice that day. "Hold fast," she said, and made the rope secure; nothing that was tied there was lost. '

/** As much text as makes a line of 1 KiB. Quotation marks take two bytes each. */
export const TEXT = fittingText()

function fittingText(): string {
  const now = systemClock.now()
  const key = systemIds.next(now)
  for (let length = RECORD_BYTES; ; length--) {
    // Through JSON, as the text of a request comes: a slice of a longer string takes longer to encode.
    const text = JSON.parse(JSON.stringify(PROSE.repeat(10).slice(0, length))) as string
    const draft = { id: key, at: new Date(now).toISOString(), type: 'messages.appended', payload: message(key, true, text) } as const
    const { at, end } = new Group(1_000_000, '00000000').add(encodeBody({ ...draft, parent: [1_000_000, 0] }))
    if (end - at <= RECORD_BYTES) return text
  }
}
