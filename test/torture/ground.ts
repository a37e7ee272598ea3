/** What a tortured store stands on: a directory, a PostgreSQL server of its own that can be killed, or one of somebody else, to which only the ways can be cut. */
import { chmodSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStore } from '../../src/store/open-store.ts'
import { type BreakableWay, startProxy } from '../postgres/proxy.ts'
import { type PostgresServer, startServer, stopProcess } from '../postgres/server.ts'
import { isMountAllowed, mountDirectory } from '../processes/mount.ts'

export interface Ground {
  /** The store as nothing stands in the way of it. */
  readonly store: string
  /** The directory of it, if it is one. */
  readonly directory: string | undefined
  /** Where the files of that directory are, also while it is unmounted. */
  readonly content: string | undefined
  /** Unmounts the store, and mounts it again. Undefined if it is not mounted. */
  readonly mount: StoreMount | undefined
  /** Ways to the store that can be cut; every process takes one of them. */
  readonly ways: readonly BreakableWay[]
  /** Kills the database and starts it again; undefined if there is none, or none of ours. */
  readonly killDatabase: (() => Promise<void>) | undefined
  close(): Promise<void>
}

interface StoreMount {
  /** Unmounts the store while processes have files open there: they can still use those. */
  leave(): void
  /** Mounts it again. Returns the names that were created in the empty directory. */
  comeBack(): string[]
}

/** Each has a part of the processes: while one is cut, others go on. */
const WAYS = 3

export async function groundOf(where: string, home: string): Promise<Ground> {
  if (where === 'postgres') return ownDatabase(home)
  if (/^postgres(?:ql)?:\/\//.test(where)) return { ...(await database(where)), killDatabase: undefined }
  const store = where === 'files' ? join(home, 'store') : where
  mkdirSync(store, { recursive: true })
  const ground = { store, directory: store, ways: [], killDatabase: undefined }
  // The directory of somebody else stays where it is.
  if (where !== 'files' || !isMountAllowed()) return { ...ground, content: store, mount: undefined, close: () => Promise.resolve() }
  const content = join(home, 'disk')
  mkdirSync(content)
  const mounted = mountDirectory(content, store)
  const comeBack = (): string[] => {
    const names = readdirSync(store)
    mounted.comeBack()
    return names
  }
  const close = async (): Promise<void> => mounted.dispose()
  return { ...ground, content, mount: { leave: mounted.leave, comeBack }, close }
}

async function ownDatabase(home: string): Promise<Ground> {
  // The user of the database has to reach its directory.
  chmodSync(home, 0o755)
  const data = join(home, 'database', 'data')
  mkdirSync(join(home, 'database'), { mode: 0o755 })
  let server: PostgresServer = await startServer(data)
  const ground = await database(server.url)
  return {
    ...ground,
    killDatabase: async () => {
      await stopProcess(server.pid, 'SIGKILL')
      for (;;) {
        try {
          server = await startServer(data, [], server.port)
          return
        } catch {
          // What is left of the one before has not ended yet.
          await sleep(200)
        }
      }
    },
    close: async () => {
      await ground.close()
      await stopProcess(server.pid, 'SIGQUIT')
    },
  }
}

async function database(url: string): Promise<Ground> {
  await (await openStore(url)).close()
  const ways = await Promise.all(Array.from({ length: WAYS }, () => startProxy(url)))
  return {
    store: url,
    directory: undefined,
    content: undefined,
    mount: undefined,
    ways,
    killDatabase: undefined,
    close: async () => {
      await Promise.all(ways.map((way) => way.close()))
    },
  }
}
