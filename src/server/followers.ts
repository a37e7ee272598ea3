/**
 * Followers: any number of streams that tell what happens to sessions, for the price of one look at the feed. Whoever follows a session
 * that nothing happens to costs memory and no work; those who follow the same one share what is read of its journal.
 *
 * A follower of a session first reads by itself what it has missed, while what comes meanwhile waits; events carry positions in the
 * journal, so nothing is told twice and nothing is left out. Followers of all sessions are told which ones have changed, and what
 * they are now: such an event may come again, and never says less than the one before.
 */

import type { Logger } from 'pino'
import { ChangeWaiter } from '../engine/change-waiter.ts'
import type { Changes } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'
import type { Held } from '../journal/replicas.ts'
import type { JsonObject } from '../record/record.ts'
import { infoOf, type SessionInfo } from '../session/info.ts'
import type { SessionState } from '../session/state.ts'
import { type Change, ChangeReader } from '../store/messages/follow.ts'
import type { SessionParts } from '../store/parts.ts'
import { changeCodec } from '../wire/messages.ts'
import { sessionCodec } from '../wire/sessions.ts'
import type { EventStream } from './event-stream.ts'
import { SERVER_LIMITS } from './limits.ts'

/** A topic that nothing came for in so long lets go of what it has read. */
const REST_MS = 10_000
/** When a client that found no room for a stream may ask again. */
const RETRY_SECONDS = 1

export interface SpaceFollower {
  readonly space: string
  /** Only sessions of this owner. */
  readonly owner: string | null
  readonly stream: EventStream
  /** Cursors tell how much happens in a store, which is not for one space to know. */
  readonly encryptCursor: (cursor: string) => string
}

export class Followers {
  readonly #parts: SessionParts
  readonly #log: Logger
  readonly #most: number
  readonly #topics = new Map<string, Topic>()
  readonly #ofSpaces = new Set<SpaceFollower>()
  /** Those that are being told what they have missed, and what came meanwhile. */
  readonly #arriving = new Map<SpaceFollower, Changes[]>()
  readonly #streams = new Set<EventStream>()
  /** Streams that were admitted, also those that are not open yet. */
  #admitted = 0
  readonly #ofKeys = new Map<string, number>()
  readonly #stopping = new AbortController()
  #looking: Promise<void> | undefined
  #cursor: string | undefined
  #heart: NodeJS.Timeout | undefined

  /** `most`: streams for which there are connections. */
  constructor(parts: SessionParts, log: Logger, most: number) {
    this.#parts = parts
    this.#log = log
    this.#most = Math.min(most, SERVER_LIMITS.followers)
  }

  get size(): number {
    return this.#streams.size
  }

  /**
   * Counts one more stream of a key, until the function that it returns is called. RESOURCE_EXHAUSTED if there are too many. `isOnly`: the server has no
   * other keys, so that this one takes nothing from others.
   */
  admit(key: string, { isOnly }: { readonly isOnly: boolean }): () => void {
    const ofKey = this.#ofKeys.get(key) ?? 0
    const share = isOnly ? 1 : SERVER_LIMITS.shareOfFollowers
    if (this.#admitted >= this.#most || ofKey >= Math.max(1, Math.floor(this.#most * share))) {
      const whose = this.#admitted >= this.#most ? '' : ' of this key'
      throw new HoldfastError('RESOURCE_EXHAUSTED', `Too many streams of events${whose} are open. Close some, or try again later.`, {
        details: { retry_after: RETRY_SECONDS },
      })
    }
    this.#admitted++
    this.#ofKeys.set(key, ofKey + 1)
    return () => {
      this.#admitted--
      const left = (this.#ofKeys.get(key) ?? 0) - 1
      if (left > 0) this.#ofKeys.set(key, left)
      else this.#ofKeys.delete(key)
    }
  }

  /** Tells a stream what happens to a session, behind a cursor or from now on. */
  async followSession(space: string, session: string, after: string | undefined): Promise<(stream: EventStream) => void> {
    const name = this.#parts.engine.name(space, session)
    const held = this.#parts.replicas.of(name)
    const end = await held.replica.end()
    const behind = after === undefined ? undefined : readerBehind(held, after)
    // A cursor that is none of ours is as good as one that no longer fits.
    const isLost = after !== undefined && behind === undefined
    await this.#look()
    return (stream) => {
      let topic = this.#topics.get(name)
      if (topic === undefined) {
        topic = new Topic(new ChangeReader(held, end), () => new ChangeReader(held, (topic as Topic).cursor ?? end))
        this.#topics.set(name, topic)
      }
      const follower = new Follower(session, stream, end)
      topic.followers.add(follower)
      this.#keep(stream, () => {
        topic?.followers.delete(follower)
        if (topic?.followers.size === 0) this.#topics.delete(name)
      })
      // From here on it can be resumed, also if nothing comes before it breaks.
      const [id, type] = after === undefined || isLost ? [`${end}-reset`, isLost ? 'reset' : 'ready'] : [after, 'ready']
      stream.send({ id, type, data: isLost ? changeCodec.encode({ session, ...RESET }) : { session_id: session } })
      void follower.catchUp(behind)
      // Between the end that was read and this moment something may have come, and been announced to others only.
      void topic.pump()
    }
  }

  /** Tells a stream which sessions of a space change, behind a cursor or from now on. */
  async followSpace(follower: SpaceFollower, after: string | undefined): Promise<void> {
    const { stream, encryptCursor } = follower
    await this.#look()
    // Before it is told what it has missed, for nothing may come between the two.
    const news: Changes[] = []
    this.#arriving.set(follower, news)
    this.#keep(stream, () => {
      this.#arriving.delete(follower)
      this.#ofSpaces.delete(follower)
    })
    const missed = await this.#parts.engine.changes(after)
    stream.send({ id: encryptCursor(missed.cursor), type: after !== undefined && missed.reset ? 'reset' : 'ready', data: {} })
    if (after !== undefined && !missed.reset) await this.#tellOf(missed, [follower])
    for (let next = news.shift(); next !== undefined; next = news.shift()) await this.#tellOf(next, [follower])
    if (this.#arriving.delete(follower)) this.#ofSpaces.add(follower)
  }

  /** Ends every stream. */
  async close(): Promise<void> {
    this.#stopping.abort()
    clearInterval(this.#heart)
    for (const stream of [...this.#streams]) stream.close()
    await this.#looking
  }

  #keep(stream: EventStream, onClosed: () => void): void {
    this.#streams.add(stream)
    this.#heart ??= setInterval(() => {
      for (const one of this.#streams) one.beat()
    }, SERVER_LIMITS.heartbeatMs).unref()
    stream.onClosed(() => {
      this.#streams.delete(stream)
      onClosed()
    })
  }

  /** Begins to look at the feed, if nobody does; from where it begins nothing is missed. */
  async #look(): Promise<void> {
    if (this.#looking !== undefined) return
    this.#cursor ??= (await this.#parts.engine.changes()).cursor
    this.#looking ??= this.#run().catch((error: unknown) => this.#beginAnew(error))
  }

  /** Nobody waits for what will not come: whoever follows comes back, and with the first of them it begins once more. */
  #beginAnew(error: unknown): void {
    this.#looking = undefined
    if (!(error instanceof HoldfastError && error.code === 'CLOSED')) this.#log.error({ err: error }, 'following was interrupted')
    for (const stream of [...this.#streams]) stream.close()
  }

  async #run(): Promise<void> {
    const { engine, clock } = this.#parts
    const waiter = new ChangeWaiter(engine, clock, this.#stopping.signal)
    try {
      for (; !waiter.ended; await waiter.wait()) {
        if (this.#streams.size === 0) continue
        const changes = await this.#changes()
        if (changes === undefined) continue
        const topics = changes.reset ? [...this.#topics.values()] : changes.names.flatMap((name) => this.#topics.get(name) ?? [])
        await Promise.all(topics.map((topic) => topic.pump()))
        for (const news of this.#arriving.values()) news.push(changes)
        await this.#tellOf(changes, [...this.#ofSpaces])
        for (const topic of this.#topics.values()) topic.rest(clock.monotonicMs())
      }
    } finally {
      waiter.close()
    }
  }

  /** Undefined if the store cannot tell just now. */
  async #changes() {
    try {
      const changes = await this.#parts.engine.changes(this.#cursor)
      this.#cursor = changes.cursor
      return changes
    } catch (error) {
      if (error instanceof HoldfastError && error.retryable) return undefined
      throw error
    }
  }

  async #tellOf({ names, cursor, reset }: Changes, followers: readonly SpaceFollower[]): Promise<void> {
    if (followers.length === 0) return
    if (reset) {
      for (const { stream, encryptCursor } of followers) stream.send({ id: encryptCursor(cursor), type: 'reset', data: {} })
      return
    }
    for (const name of new Set(names)) {
      const changed = await this.#infoOf(name)
      if (changed === undefined) continue
      for (const { space, owner, stream } of followers) {
        if (changed.space !== space || (owner !== null && changed.info.owner !== owner)) continue
        stream.send({ id: undefined, type: 'session.changed', data: sessionCodec.encode(changed.info) })
      }
    }
    // Only behind all of them: whoever resumes from here has missed none.
    for (const { stream, encryptCursor } of followers) stream.send({ id: encryptCursor(cursor), type: 'seen', data: {} })
  }

  async #infoOf(name: string): Promise<{ space: string; info: SessionInfo } | undefined> {
    try {
      const { replica } = this.#parts.replicas.once(name)
      const { state } = await replica.read()
      if (state.space === null || state.id === null || state.status === 'absent') return undefined
      return { space: state.space, info: infoOf(state.id, state, replica.damage) }
    } catch (error) {
      if (error instanceof HoldfastError && error.code !== 'CLOSED') return undefined
      throw error
    }
  }
}

const RESET: Change<JsonObject> = {
  cursor: '',
  type: 'reset',
  at: '',
  version: '',
  messages: [],
  damage: [],
  record: { v: 1, id: '', at: '', type: 'reset', prev: '' },
}

function readerBehind(held: Held<SessionState>, cursor: string): ChangeReader | undefined {
  try {
    return new ChangeReader(held, cursor)
  } catch (error) {
    if (error instanceof HoldfastError) return undefined
    throw error
  }
}

/** What is read of one journal, for all who follow it. */
class Topic {
  readonly followers = new Set<Follower>()
  readonly #anew: () => ChangeReader
  #reader: ChangeReader | undefined
  #changedMs: number | undefined
  #pumping: Promise<void> = Promise.resolve()
  cursor: string | undefined

  constructor(reader: ChangeReader, anew: () => ChangeReader) {
    this.#reader = reader
    this.#anew = anew
  }

  /** Reads what is new, one call after the other. */
  pump(): Promise<void> {
    this.#pumping = this.#pumping.then(() => this.#read())
    return this.#pumping
  }

  /** What a reader knows of a segment is worth keeping only while something happens. */
  rest(nowMs: number): void {
    this.#changedMs ??= nowMs
    if (nowMs - this.#changedMs > REST_MS) this.#reader = undefined
  }

  async #read(): Promise<void> {
    this.#reader ??= this.#anew()
    this.#changedMs = undefined
    try {
      for await (const change of this.#reader.news()) {
        this.cursor = change.cursor
        for (const follower of this.followers) follower.take(change)
      }
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error
      // It cannot be read just now: they come back, and are told why.
      for (const follower of this.followers) follower.stream.close()
    }
  }
}

class Follower {
  readonly stream: EventStream
  readonly #session: string
  /** Of the last record that it was told of. */
  #position: number
  /** What came while it read what it had missed. */
  #waiting: Change<JsonObject>[] | undefined = []

  constructor(session: string, stream: EventStream, end: number) {
    this.#session = session
    this.stream = stream
    this.#position = end - 1
  }

  async catchUp(behind: ChangeReader | undefined): Promise<void> {
    if (behind !== undefined) {
      this.#position = -1
      try {
        for await (const change of behind.news()) {
          if (!this.stream.isOpen) return
          this.#tell(change)
        }
      } catch {
        // The journal cannot be read just now: it comes back.
        return this.stream.close()
      }
    }
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const change of waiting) this.take(change)
  }

  take(change: Change<JsonObject>): void {
    if (this.#waiting !== undefined) {
      this.#waiting.push(change)
      if (this.#waiting.length > SERVER_LIMITS.followerBytes / 1024) this.stream.close()
    } else if (change.type === 'reset' || positionOf(change) > this.#position) this.#tell(change)
  }

  #tell(change: Change<JsonObject>): void {
    this.#position = positionOf(change)
    this.stream.send({ id: change.cursor, type: change.type, data: changeCodec.encode({ session: this.#session, ...change }) })
  }
}

function positionOf({ cursor }: Change<JsonObject>): number {
  return Number.parseInt(cursor, 10)
}
