/**
 * The stores that every adapter is tested on: each engine, and a server; in the project `postgres` of vitest, a database and a server on one. `reopen` is what
 * another process would have: nothing is shared but what was written.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { connect, type RemoteStore, type StoreApi } from '../../src/client/index.ts'
import { Server } from '../../src/server/server.ts'
import { openStore } from '../../src/store/open-store.ts'
import { storeAddress } from '../store-address.ts'

export interface Opened {
  readonly store: StoreApi
  reopen(): Promise<StoreApi>
}

export interface Opener {
  readonly name: string
  /** For whoever closes it himself; a test has `opened` do so. */
  open(): Promise<Opened & { close(): Promise<void> }>
}

export const ON_POSTGRES = process.env.HOLDFAST_TEST_STORE === 'postgres'

export const OPENERS: readonly Opener[] = ON_POSTGRES
  ? [
      { name: 'postgres', open: async () => local(await storeAddress()) },
      { name: 'http, on postgres', open: remote },
    ]
  : [
      { name: 'memory', open: () => local('memory:') },
      { name: 'files', open: onDisk },
      { name: 'http', open: remote },
    ]

/** A store for one test. */
export async function opened({ open }: Pick<Opener, 'open'>): Promise<Opened> {
  const store = await open()
  onTestFinished(() => store.close())
  return store
}

async function local(where: string): Promise<Opened & { close(): Promise<void> }> {
  const store = await openStore(where)
  const stores = [store]
  const reopen = async (): Promise<StoreApi> => {
    // What lives in memory is gone with its store.
    if (where === 'memory:') return store
    const another = await openStore(where)
    stores.push(another)
    return another
  }
  const close = async (): Promise<void> => {
    for (const one of stores) await one.close()
  }
  return { store, reopen, close }
}

async function onDisk(): Promise<Opened & { close(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'holdfast-adapters-'))
  const directory = await local(path)
  const close = async (): Promise<void> => {
    await directory.close()
    await rm(path, { recursive: true, force: true })
  }
  return { ...directory, close }
}

async function remote(): Promise<Opened & { close(): Promise<void> }> {
  const served = await openStore(await storeAddress())
  const server = await Server.start(served, { port: 0, worker: false })
  const { key } = await server.localKey(undefined)
  const stores: RemoteStore[] = []
  const store = (): StoreApi => {
    const one = connect(server.url, { key })
    stores.push(one)
    return one
  }
  const close = async (): Promise<void> => {
    for (const one of stores) await one.close()
    await server.stop()
    await served.close()
  }
  return { store: store(), reopen: async () => store(), close }
}
