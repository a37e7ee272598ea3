/** Sends every family of texts into an entry point, and reports the one whose time grows too much. */
import { type Action, excessOf } from './growth.ts'
import { FAMILIES, type Family } from './texts.ts'

export interface EntryPoint {
  /** The name in a failure report. */
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

/** Returns a sentence about the first family of texts whose time grows too much. The other families would take long and say the same. */
export async function tooSlow({ name, lengths, families = FAMILIES, floorMs, prepare }: EntryPoint): Promise<string[]> {
  for (const family of families) {
    const excess = await excessOf((length) => prepare(family.text(length)), lengths, floorMs)
    if (excess === undefined) continue
    const { shortLength, longLength, shortMs, longMs } = excess
    const times = `${shortMs.toFixed(1)} ms for ${shortLength} characters and ${longMs.toFixed(1)} ms for ${longLength}`
    return [`${name}, text of ${family.name}: ${times} (${(longMs / shortMs).toFixed(1)} times)`]
  }
  return []
}

/** The same for several entry points, one after the other. */
export async function allTooSlow(entryPoints: Iterable<EntryPoint>): Promise<string[]> {
  const found: string[] = []
  for (const entryPoint of entryPoints) found.push(...(await tooSlow(entryPoint)))
  return found
}
