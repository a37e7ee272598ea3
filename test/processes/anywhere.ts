import { connect, type StoreApi } from '../../src/client/index.ts'
import { openStore } from '../../src/store/open-store.ts'

/** A store in a directory or a database, or at a server, with the key to it. */
export async function openAnywhere(where: string, key: string | undefined): Promise<StoreApi> {
  return /^https?:/.test(where) ? connect(where, key === undefined ? {} : { key }) : openStore(where)
}
