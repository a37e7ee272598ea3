/** Loads what a journal says of its session, for a check. */
import type { Engine } from '../engine/port.ts'
import { isNamedIn } from '../journal/loss.ts'
import { Tail } from '../journal/tail.ts'
import { sessionReducer } from '../session/reducer.ts'
import type { SessionState } from '../session/state.ts'

/** A session as its journal tells it, with what it has lost: nothing is synced, written or kept. */
export async function loadedTail({ engine }: { readonly engine: Engine }, name: string): Promise<Tail<SessionState>> {
  const journal = engine.journal(name)
  const isNamed = isNamedIn(engine, name)
  for (;;) {
    const segments = await journal.segments()
    const tail = new Tail(journal, sessionReducer, { isNamed })
    try {
      await tail.load()
      return tail
    } catch (error) {
      // A purge may have taken segments away that were about to be read.
      const purged = (await journal.segments()).some((first, i) => first !== segments[i])
      if (!purged) throw error
    }
  }
}
