/**
 * The stores that every adapter is tested on: each engine, and a server. One more engine is one more line. `reopen` is what another process
 * would have: nothing is shared but what was written.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { connect, type StoreApi } from '../../src/client/index.ts'
import { type OpenOptions, openStore } from '../../src/store/open-store.ts'
import { Application } from '../server/application.ts'

export interface Opened {
  readonly store: StoreApi
  reopen(): Promise<StoreApi>
}

interface Opener {
  readonly name: string
  open(): Promise<Opened>
}

export const OPENERS: readonly Opener[] = [
  { name: 'memory', open: async () => local('memory:') },
  { name: 'files', open: async () => local(await directory()) },
  { name: 'http', open: remote },
]

async function local(where: string): Promise<Opened> {
  const open = async (options: OpenOptions = {}): Promise<StoreApi> => {
    const store = await openStore(where, options)
    onTestFinished(() => store.close())
    return store
  }
  const store = await open()
  // What lives in memory is gone with its store.
  return { store, reopen: () => (where === 'memory:' ? Promise.resolve(store) : open()) }
}

async function remote(): Promise<Opened> {
  const { app, key } = await Application.open()
  const store = (): StoreApi =>
    connect('http://localhost', {
      key,
      fetch: async (url, init) => app.request(String(url), { ...init, headers: { ...init?.headers, host: 'localhost' } }),
    })
  return { store: store(), reopen: async () => store() }
}

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'holdfast-adapters-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}
