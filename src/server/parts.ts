/** What all requests of one server share. */

import type { Logger } from 'pino'
import type { Worker } from '../commit/worker.ts'
import { HoldfastError } from '../errors.ts'
import type { JsonObject } from '../record/record.ts'
import type { Session } from '../store/session.ts'
import type { Store } from '../store/store.ts'
import type { ApiKeys } from './api-keys.ts'
import type { Audit } from './audit.ts'
import type { Connections } from './connections.ts'
import type { FairQueue } from './fair-queue.ts'
import type { Followers } from './followers.ts'
import type { GuardOptions } from './guard.ts'
import type { HeldBytes } from './held-bytes.ts'
import { SERVER_LIMITS } from './limits.ts'
import type { Logins } from './logins.ts'
import type { Metrics } from './metrics.ts'
import type { Principal } from './principal.ts'
import type { Rate } from './rate.ts'
import type { RequestLog } from './request-log.ts'

export interface ServerParts {
  /** Of the space that somebody without a key has, if that is allowed. */
  readonly store: Store
  readonly stores: Spaces
  readonly keys: ApiKeys
  readonly logins: Logins
  readonly audit: Audit
  readonly metrics: Metrics
  readonly requestLog: RequestLog
  readonly followers: Followers
  readonly load: Load
  readonly queue: FairQueue
  /** Look-ups of keys that are not known yet, by address. */
  readonly lookups: FairQueue
  readonly heldBytes: HeldBytes
  readonly connections: Connections
  readonly guard: GuardOptions
  readonly requests: Rate
  readonly attempts: Rate
  /** Whether agents at /mcp may write. */
  readonly mcpWrite: boolean
  readonly log: Logger
  readonly worker: Worker | undefined
  /** Whoever comes without a key; undefined if nobody may. */
  readonly nobody: Principal | undefined
  readonly version: string
}

/** Stores by space: each is the same store, seen from one space. Sessions are kept too: one that is known to be there need not be made first. */
export class Spaces {
  readonly #store: Store
  readonly #bySpace = new Map<string, Store>()
  readonly #sessions = new Map<string, Session<JsonObject>>()

  constructor(store: Store) {
    this.#store = store
  }

  of(space: string): Store {
    const known = this.#bySpace.get(space)
    if (known !== undefined) return known
    const store = this.#store.in(space)
    if (this.#bySpace.size >= SERVER_LIMITS.counted) this.#bySpace.clear()
    this.#bySpace.set(space, store)
    return store
  }

  session(space: string, id: string): Session<JsonObject> {
    // The length tells where the one ends and the other begins.
    const name = `${space.length} ${space}${id}`
    const known = this.#sessions.get(name)
    if (known !== undefined) return known
    const session = this.of(space).session<JsonObject>(id)
    if (this.#sessions.size >= SERVER_LIMITS.counted) this.#sessions.clear()
    this.#sessions.set(name, session)
    return session
  }
}

/** How much is under way, and whether more may come. */
export class Load {
  #requests = 0
  #stopping = false
  #idle: (() => void) | undefined

  get requests(): number {
    return this.#requests
  }

  get stopping(): boolean {
    return this.#stopping
  }

  begin(): void {
    if (this.#stopping) throw new HoldfastError('UNAVAILABLE', 'The server is stopping. Try again in a moment, or at another one.')
    if (this.#requests >= SERVER_LIMITS.requests)
      throw new HoldfastError('RESOURCE_EXHAUSTED', 'The server is busy. Try again in a moment.')
    this.#requests++
  }

  end(): void {
    this.#requests--
    if (this.#requests === 0) this.#idle?.()
  }

  /** Lets nobody in any more; resolves when the last one has left. */
  async drain(): Promise<void> {
    this.#stopping = true
    if (this.#requests === 0) return
    await new Promise<void>((resolve) => {
      this.#idle = resolve
    })
  }
}
