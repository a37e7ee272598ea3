/** Shows how far the catalog is while a command waits for it: the first look at a large store takes a while. */
import type { StoreApi } from '../store/api/store-api.ts'
import type { Store } from '../store/store.ts'
import type { Context } from './context.ts'

const EVERY_MS = 200

export async function withCatalogProgress<T>({ out, isRemote }: Context, store: StoreApi, work: Promise<T>): Promise<T> {
  const progress = out.progress()
  const startedAt = performance.now()
  const ticking = setInterval(() => {
    if (isRemote) progress.update(`waiting for the server: ${Math.round((performance.now() - startedAt) / 1000)} s`)
    else
      (store as Store).catalogStatus().then(
        ({ state, sessions, of }) =>
          progress.update(
            state === 'sweeping' ? `looking at the sessions: ${sessions} of ${of}` : `indexing text: ${sessions} sessions left`,
          ),
        () => undefined,
      )
  }, EVERY_MS)
  try {
    return await work
  } finally {
    clearInterval(ticking)
    progress.end()
  }
}
