/**
 * The event store of MCP's streamable HTTP transport: a stream is a session, an event a message of it. An event is on the disk before it is
 * sent, so a client that lost its connection, or its server, goes on behind the last event that it saw.
 */
import type { EventId, EventStore, StreamId } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { HoldfastError } from '../../errors.ts'
import { type AdapterSession, type AdapterStore, reportDamage } from '../sessions.ts'

export interface HoldfastEventStoreOptions {
  /** A store that was opened, or one at a server. */
  readonly store: Pick<AdapterStore, 'session'>
  /** In front of the ids of its sessions; `mcp-stream:` unless told. */
  readonly prefix?: string
}

interface StoredEvent {
  readonly type: 'mcp.event'
  readonly message: JSONRPCMessage
}

export class HoldfastEventStore implements EventStore {
  readonly #store: Pick<AdapterStore, 'session'>
  readonly #prefix: string

  constructor({ store, prefix = 'mcp-stream:' }: HoldfastEventStoreOptions) {
    this.#store = store
    this.#prefix = prefix
  }

  async storeEvent(streamId: StreamId, message: JSONRPCMessage): Promise<EventId> {
    const { id } = await this.#session(streamId).append({ type: 'mcp.event', message }, { ids: 'new' })
    return `${Buffer.from(streamId).toString('base64url')}.${id}`
  }

  async getStreamIdForEventId(eventId: EventId): Promise<StreamId | undefined> {
    return partsOf(eventId)?.stream
  }

  async replayEventsAfter(
    lastEventId: EventId,
    { send }: { send: (eventId: EventId, message: JSONRPCMessage) => Promise<void> },
  ): Promise<StreamId> {
    const parts = partsOf(lastEventId)
    if (parts === undefined) throw new HoldfastError('INVALID_ARGUMENT', 'This is no id of an event. Begin a new stream.')
    const { name, stream } = parts
    const session = this.#session(stream)
    for (let { after, more } = { after: parts.message, more: true }; more; ) {
      const page = await session.messages({ after, limit: 1000, archived: true })
      reportDamage(session.id, page.damage)
      for (const { id, message } of page.messages) {
        await send(`${name}.${id}`, message.message)
        after = id
      }
      more = page.more
    }
    return stream
  }

  #session(streamId: StreamId): AdapterSession<StoredEvent> {
    return this.#store.session(`${this.#prefix}${streamId}`)
  }
}

function partsOf(eventId: EventId): { name: string; stream: StreamId; message: string } | undefined {
  const [, name, message] = /^([\w-]+)\.(.+)$/s.exec(eventId) ?? []
  if (name === undefined || message === undefined) return undefined
  return { name, stream: Buffer.from(name, 'base64url').toString(), message }
}
