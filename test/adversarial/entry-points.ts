/** Sends every family of texts into an entry point, and says where the time grew too much. */
import { type Action, excessOf } from './growth.ts'
import { FAMILIES, type Family } from './texts.ts'

export interface EntryPoint {
  /** What takes the text, as a failure names it. */
  readonly name: string
  /** The shorter length of each comparison, in ascending order. */
  readonly lengths: readonly number[]
  /** Defaults to all of them. */
  readonly families?: readonly Family[]
  /** The time below which a text passes. Defaults to that of `excessOf`. */
  readonly floorMs?: number
  /** Returns the call with this text, which is measured and may be repeated. */
  prepare(text: string): Action | Promise<Action>
}

/** One sentence for each family of texts whose time grew too much. */
export async function tooSlow({ name, lengths, families = FAMILIES, floorMs, prepare }: EntryPoint): Promise<string[]> {
  const found: string[] = []
  for (const family of families) {
    const excess = await excessOf((length) => prepare(family.text(length)), lengths, floorMs)
    if (excess === undefined) continue
    const { shortLength, longLength, shortMs, longMs } = excess
    const times = `${shortMs.toFixed(1)} ms for ${shortLength} characters and ${longMs.toFixed(1)} ms for ${longLength}`
    found.push(`${name}, text of ${family.name}: ${times} (${(longMs / shortMs).toFixed(1)} times)`)
  }
  return found
}

/** The same for several entry points, one after the other. */
export async function allTooSlow(entryPoints: Iterable<EntryPoint>): Promise<string[]> {
  const found: string[] = []
  for (const entryPoint of entryPoints) found.push(...(await tooSlow(entryPoint)))
  return found
}
