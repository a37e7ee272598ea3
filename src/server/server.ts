/**
 * A server on a store: an application behind a socket, with the worker inside unless it runs elsewhere. Stopping it finishes what is under
 * way, refuses what comes, ends the streams, gives back what the worker holds, and writes down what was counted; the store stays open,
 * since it belongs to who opened it.
 */
import type { Server as HttpServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { createAdaptorServer } from '@hono/node-server'
import { type Logger, pino } from 'pino'
import { Worker, type WorkerOptions } from '../commit/worker.ts'
import { HoldfastError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import { ApiKeys, type KeyRecord } from './api-keys.ts'
import { makeApp } from './app.ts'
import { Audit } from './audit.ts'
import { Connections } from './connections.ts'
import { FairQueue } from './fair-queue.ts'
import { Followers } from './followers.ts'
import { isLoopback, LOOPBACK_HOSTS } from './guard.ts'
import { HeldBytes } from './held-bytes.ts'
import { SERVER_LIMITS } from './limits.ts'
import { Logins } from './logins.ts'
import { Metrics } from './metrics.ts'
import { Load, type ServerParts, Spaces } from './parts.ts'
import { Rate } from './rate.ts'
import { RequestLog } from './request-log.ts'

export interface ServerOptions {
  /** 127.0.0.1 unless told. */
  readonly host?: string
  /** 7717 unless told; 0 for any that is free. */
  readonly port?: number
  /** False: whoever reaches the server has everything in the store's space. On loopback only. */
  readonly auth?: boolean
  /** False: summaries are made elsewhere. */
  readonly worker?: boolean | WorkerOptions
  /** Pages of others that may use the server, as `https://name[:port]`. None unless told. */
  readonly origins?: readonly string[]
  /** Names by which the server may be called: on loopback its names, elsewhere any unless told. */
  readonly hosts?: readonly string[]
  /** Silent unless told. */
  readonly log?: Logger
  /** What counts; hand in the one whose `meter` the store was opened with, and the engine is counted too. */
  readonly metrics?: Metrics
  /** Requests of one key a second. */
  readonly requestsPerSecond?: number
  /** Connections at once. Defaults to what the descriptors of the process allow beside the files of the store. */
  readonly connections?: number
  /** Agents at /mcp may also write, if their key may. They only read unless told. */
  readonly mcpWrite?: boolean
}

/** Makes what all requests share. Nothing listens yet. */
export async function makeParts(store: Store, options: ServerOptions): Promise<ServerParts> {
  const { host = '127.0.0.1', auth = true, worker = true, origins = [], log = pino({ level: 'silent' }), metrics = new Metrics() } = options
  if (!auth && !isLoopback(host)) {
    throw new HoldfastError('INVALID_ARGUMENT', `Without keys a server listens on loopback only, not on ${host}.`)
  }
  const { clock, ids } = store.parts
  const { requestsPerSecond = SERVER_LIMITS.requestsPerSecond } = options
  const connections = new Connections(options.connections ?? store.parts.connections ?? Number.POSITIVE_INFINITY, clock)
  const keys = new ApiKeys(store)
  await keys.open()
  const { space } = store
  const parts: ServerParts = {
    store,
    stores: new Spaces(store),
    keys,
    logins: new Logins(clock, ids),
    audit: new Audit(store),
    metrics,
    requestLog: new RequestLog(log, metrics),
    followers: new Followers(store.parts, log, connections.streams),
    connections,
    load: new Load(),
    queue: new FairQueue(clock),
    lookups: new FairQueue(clock, () => SERVER_LIMITS.lookupsOfAddress),
    heldBytes: new HeldBytes({ total: SERVER_LIMITS.heldBytes, ofKey: SERVER_LIMITS.heldBytesOfKey }),
    guard: { hosts: options.hosts ?? (isLoopback(host) ? LOOPBACK_HOSTS : undefined), origins },
    requests: new Rate(clock, requestsPerSecond, Math.max(requestsPerSecond * 2, 1)),
    attempts: new Rate(clock, SERVER_LIMITS.attemptsPerSecond, SERVER_LIMITS.attemptBurst),
    log,
    worker: worker === false ? undefined : new Worker(store, { restMs: SERVER_LIMITS.workerRestMs, ...(worker === true ? {} : worker) }),
    nobody: auth
      ? undefined
      : {
          id: 'nobody',
          kind: 'nobody',
          space,
          scope: 'admin',
          owner: null,
          session: null,
          secret: ids.hex(64),
          account: space,
          user: 'default',
        },
    mcpWrite: options.mcpWrite === true,
    version: (createRequire(import.meta.url)('holdfast/package.json') as { version: string }).version,
  }
  metrics.read({
    inFlight: () => parts.load.requests,
    followers: () => parts.followers.size,
    waiting: () => parts.queue.waiting,
    heldBytes: () => parts.heldBytes.total,
    worker: () => parts.worker?.status,
    stats: () => store.stats().catch(() => undefined),
  })
  return parts
}

export class Server {
  readonly #parts: ServerParts
  readonly #http: HttpServer
  #stopped: Promise<void> | undefined

  private constructor(parts: ServerParts, http: HttpServer) {
    this.#parts = parts
    this.#http = http
  }

  /** Resolves when it listens. UNAVAILABLE if the address is taken. */
  static async start(store: Store, options: ServerOptions = {}): Promise<Server> {
    const { host = '127.0.0.1', port = 7717 } = options
    const parts = await makeParts(store, options)
    const http = createAdaptorServer({
      fetch: makeApp(parts).fetch,
      serverOptions: {
        headersTimeout: SERVER_LIMITS.headMs,
        requestTimeout: SERVER_LIMITS.requestMs,
        keepAliveTimeout: SERVER_LIMITS.idleMs,
        connectionsCheckingInterval: SERVER_LIMITS.headMs / 5,
      },
    }) as HttpServer
    parts.connections.watch(http)
    await listening(http, host, port)
    parts.worker?.run().catch((error: unknown) => parts.log.error({ err: error }, 'the worker has ended'))
    store.keepCatalog()
    return new Server(parts, http)
  }

  /** Where it is. */
  get url(): string {
    const { address, port, family } = this.#http.address() as AddressInfo
    const name = address === '0.0.0.0' || address === '::' ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
    return `http://${name}:${port}`
  }

  /** The key of this machine: the one that was kept, if it is still good, or a new one, which the caller keeps. Others that it had end; those of other machines do not. */
  async localKey(kept: string | undefined, machine = hostname()): Promise<{ key: string; record: KeyRecord }> {
    const { keys, store } = this.#parts
    const known = kept === undefined ? undefined : await keys.find(kept)
    if (kept !== undefined && known !== undefined && known.space === store.space) return { key: kept, record: known }
    const local = `local to ${machine}`
    for (const { id, name, revokedAt } of await keys.list(store.space)) if (name === local && revokedAt === null) await keys.revoke(id)
    return keys.create({ space: store.space, scope: 'admin', name: local })
  }

  /** A link that works once, and gives a browser what the key opens. */
  readyLink(record: KeyRecord): string {
    return `${this.url}/login?code=${this.#parts.logins.make(record)}`
  }

  /** Finishes what is under way, for a few seconds at most. The store stays open. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    const { load, followers, worker, audit, keys, requestLog } = this.#parts
    const closed = new Promise((resolve) => this.#http.close(resolve))
    const released = worker?.stop().catch(() => undefined)
    const streams = followers.close()
    let late: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => {
      late = setTimeout(resolve, SERVER_LIMITS.stopMs)
    })
    await Promise.race([Promise.all([load.drain(), released, streams]), patience])
    clearTimeout(late)
    this.#http.closeIdleConnections()
    keys.close()
    requestLog.flush()
    await audit.flush()
    this.#http.closeAllConnections()
    await closed
  }
}

function listening(http: HttpServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'something listens there already' : error.code
      reject(
        new HoldfastError('UNAVAILABLE', `The server cannot listen on ${host}, port ${port}: ${why}. Choose another --port.`, {
          cause: error,
        }),
      )
    })
    http.listen(port, host, () => resolve())
  })
}
