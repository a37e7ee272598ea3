/** `serve`: the store over HTTP, with the worker inside, until it is told to stop. What it logs goes to standard error, a line of JSON each. */
import { hash } from 'node:crypto'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Server } from '../server/server.ts'
import { withoutUndefined } from '../server/without-undefined.ts'
import { wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'
import { growSlowly } from './grow-slowly.ts'
import { readServerKey, writeServerKey } from './server-key.ts'

interface Options {
  readonly host: string
  readonly port: number
  readonly auth: boolean
  readonly worker: boolean
  readonly mcpWrite?: boolean
  readonly redact?: boolean
  readonly indexInClear?: boolean
  readonly migrate: boolean
  readonly allowHost?: readonly string[]
  readonly allowOrigin?: readonly string[]
  readonly descriptors?: number
}

/** A server stays under 300 MB also if thousands of sessions are in use, one after the other; what it lets go of, it reads again. */
const LIMITS = { idCacheBytes: 8 * 1024 * 1024 }

/** Where the key of this machine is kept: with the store if that is a directory; else at home, under a name that tells which store it is for. */
function keyFileOf({ directory, address }: Context): string {
  if (directory !== undefined) return join(directory, 'server.key')
  return join(homedir(), '.holdfast', `server-${hash('sha256', address, 'hex').slice(0, 16)}.key`)
}

export async function serve(context: Context, _: [], options: Options): Promise<void> {
  const { out, signal } = context
  const {
    host,
    port,
    auth,
    worker,
    migrate,
    mcpWrite,
    redact = false,
    indexInClear = false,
    allowHost: hosts,
    allowOrigin: origins,
    descriptors,
  } = options
  if (port > 65_535) throw wrongUsage(`--port goes up to 65535; got ${port}.`)
  // Many sessions sync at once, each in a thread of its own: with four of them, one waits for the others' disk.
  process.env.UV_THREADPOOL_SIZE ??= '16'
  growSlowly()
  // Loaded here: no other command pays for it.
  const [{ Server: HttpServer }, { Metrics }, { openLog }, { BatchedHints }, { MeteredEngine }] = await Promise.all([
    import('../server/server.ts'),
    import('../server/metrics.ts'),
    import('../server/log.ts'),
    import('../server/batched-hints.ts'),
    import('../server/metered-engine.ts'),
  ])
  const metrics = new Metrics()
  const keyFile = keyFileOf(context)
  const kept = auth ? readServerKey(keyFile) : undefined
  const { encryption } = context
  if (indexInClear && encryption === undefined) throw wrongUsage('--index-in-clear goes with a master key.')
  const encrypted = encryption === undefined ? {} : { encryption: { ...encryption, indexInClear } }
  const store = await context.local({
    wrap: (engine) => new MeteredEngine(new BatchedHints(engine), metrics),
    limits: { ...LIMITS, ...withoutUndefined({ descriptors }) },
    redact,
    migrate,
    quotas: (limit, of) => metrics.quotaRefused(limit, of),
    ...encrypted,
  })
  if (store === undefined) throw wrongUsage('A server serves a store, not another server. Name a directory.')
  const { log, close: closeLog } = openLog(out.quiet ? 'warn' : 'info')
  const server = await HttpServer.start(store, {
    host,
    port,
    auth,
    worker,
    log,
    metrics,
    ...withoutUndefined({ hosts, origins, mcpWrite }),
  })
  context.beforeClosing(async () => {
    await server.stop()
    closeLog()
  })
  const link = auth ? await readyLink(server, keyFile, kept) : server.url
  const { url } = server
  await out.result({ url, pid: process.pid, ready_link: link }, () => link)
  out.note(
    auth
      ? 'Open this link once; it becomes a cookie. Programs need a key: `holdfast keys create`.'
      : 'Whoever reaches this address may do everything.',
  )
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
}

/** The key is made on the first start, and again after it was revoked. */
async function readyLink(server: Server, file: string, kept: string | undefined): Promise<string> {
  const { key, record } = await server.localKey(kept)
  if (key !== kept) writeServerKey(file, key)
  return server.readyLink(record)
}
