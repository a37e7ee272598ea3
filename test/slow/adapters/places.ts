/** Where processes that are killed meet: a directory, a server that is killed with them, or, in the project `postgres` of vitest, a database. */
import { onTestFinished } from 'vitest'
import { connect, type StoreApi } from '../../../src/client/index.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { ON_POSTGRES } from '../../adapters/openers.ts'
import { start, step } from '../../long.ts'
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

interface Kind {
  readonly name: string
  make(): Promise<Place>
}

const ON_DISK: readonly Kind[] = [
  { name: 'files', make: async () => local(storeDirectory()) },
  { name: 'http', make: served },
]

export const PLACES: readonly Kind[] = ON_POSTGRES
  ? [{ name: 'postgres', make: async () => local(await storeAddress()) }]
  : step(2) === 1
    ? ON_DISK
    : [inTurn()]

/** Each test on one of the two; in another run, on the other. */
function inTurn(): Kind {
  let turn = start(ON_DISK.length)
  return { name: 'files or http, in turn', make: () => (ON_DISK[turn++ % ON_DISK.length] as Kind).make() }
}

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
