/** Where processes that are killed meet: a directory, a server that is killed with them, or, in the project `postgres` of vitest, a database. */
import { onTestFinished } from 'vitest'
import { connect, type StoreApi } from '../../../src/client/index.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { ON_POSTGRES } from '../../adapters/openers.ts'
import { ServerProcess, storeDirectory } from '../../server/process.ts'
import { storeAddress } from '../../store-address.ts'

export interface Place {
  /** What a process is told of it. */
  readonly where: string
  readonly key?: string
  /** What dies when everybody does. */
  killed(): Promise<void>
  open(): Promise<StoreApi>
}

export const PLACES: readonly { readonly name: string; make(): Promise<Place> }[] = ON_POSTGRES
  ? [{ name: 'postgres', make: async () => local(await storeAddress()) }]
  : [
      { name: 'files', make: async () => local(storeDirectory()) },
      { name: 'http', make: served },
    ]

function local(where: string): Place {
  const open = async (): Promise<StoreApi> => {
    const store = await openStore(where)
    onTestFinished(() => store.close())
    return store
  }
  return { where, killed: async () => undefined, open }
}

async function served(): Promise<Place> {
  const directory = storeDirectory()
  let server = await ServerProcess.start(directory)
  const { url, port, key } = server
  const killed = async (): Promise<void> => {
    await server.kill()
    server = await ServerProcess.start(directory, [], { port })
  }
  const open = async (): Promise<StoreApi> => {
    const store = connect(url, { key })
    onTestFinished(() => store.close())
    return store
  }
  return { where: url, key, killed, open }
}
