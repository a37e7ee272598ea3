/** Which sessions of a store lost bytes. A copy of what is left of them would look whole: nothing in the copy knows how far they reached. */
import { openStore } from '../store/open-store.ts'
import { type Owner, ownerOf } from './owner.ts'

export async function vanishedSessions(directory: string, signal?: AbortSignal): Promise<Owner[]> {
  const store = await openStore(directory, { brief: true })
  try {
    const { engine } = store.parts
    const found: Owner[] = []
    for await (const name of engine.names()) {
      signal?.throwIfAborted()
      if ((await engine.journal(name).vanished?.()) !== undefined) found.push(await ownerOf(store.parts, name))
    }
    return found
  } finally {
    await store.close()
  }
}
