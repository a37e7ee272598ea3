/**
 * Whose a journal is that does not say it: nothing is left of it, or its first records are lost. The name of a journal begins with its space's
 * hash and has a short, plain id in it, so an id can be verified in each space that is known. Other journals of the same space name that.
 */

import { idOf } from '../engine/session-id-of.ts'
import { HoldfastError } from '../errors.ts'
import type { SessionParts, StoreParts } from '../store/parts.ts'
import { loadedTail } from '../verify/loaded-tail.ts'

export interface Owner {
  /** The name of the journal, if the id is not known. */
  readonly id: string
  /** Null if neither is known. */
  readonly space: string | null
}

/** Journals that are asked for the name of their space. */
const MOST_ASKED = 100

export async function ownerOf(parts: SessionParts, name: string): Promise<Owner> {
  const own = ownerIn(parts, name, parts.space)
  if (own !== undefined) return own
  const space = await spaceOf(parts, name)
  return (space === undefined ? undefined : ownerIn(parts, name, space)) ?? { id: name, space: null }
}

function ownerIn({ engine }: Pick<StoreParts, 'engine'>, name: string, space: string): Owner | undefined {
  const id = idOf({ engine, space }, name)
  return id === name ? undefined : { id, space }
}

/** The space of a journal, by the first other one of the same space that can be read. */
async function spaceOf(parts: Pick<StoreParts, 'engine'>, name: string): Promise<string | undefined> {
  const prefix = name.slice(0, name.indexOf('/') + 1)
  let asked = 0
  for await (const other of parts.engine.names()) {
    if (other === name || !other.startsWith(prefix)) continue
    if (++asked > MOST_ASKED) return undefined
    const space = await spaceIn(parts, other)
    if (space !== null) return space
  }
  return undefined
}

async function spaceIn(parts: Pick<StoreParts, 'engine'>, name: string): Promise<string | null> {
  try {
    const { state, loss } = await loadedTail(parts, name)
    return loss?.as === 'identity' ? null : state.space
  } catch (error) {
    if (error instanceof HoldfastError && ['DAMAGED', 'UNREADABLE', 'UNSUPPORTED_VERSION'].includes(error.code)) return null
    throw error
  }
}
