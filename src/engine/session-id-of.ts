/** Whose a journal is, where its records cannot tell. */
import type { Engine } from './port.ts'

/** The id of a session that cannot tell it: the name of its journal begins with it, if it is short and plain. */
export function idOf({ engine, space }: { readonly engine: Engine; readonly space: string }, name: string): string {
  const candidate = name.slice(name.lastIndexOf('/') + 1).replace(/-[0-9a-f]{32}$/, '')
  return candidate !== '' && engine.name(space, candidate) === name ? candidate : name
}
