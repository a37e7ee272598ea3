/** Which sessions clients use: the same few for a while, so that they meet, and then others, so that none grows without end. */
import { nowUs } from './history.ts'

/** How long a set of sessions is in use; now and then a client goes back to an older one. */
const GENERATION_US = 12_000_000

export interface Sessions {
  /** Written by everybody. */
  readonly talks: readonly string[]
  /** Written by everybody, until somebody deletes it. */
  readonly doomed: string
  /** Imported, by several at once. */
  readonly imported: string
  /** Deleted, purged and created again, all the time. */
  readonly reborn: string
}

/** The number of the set that is in use. `begun` is when the run began. */
export function generationAt(begun: number): number {
  return Math.max(0, Math.floor((nowUs() - begun) / GENERATION_US))
}

export function sessionsOf(generation: number): Sessions {
  return {
    talks: [0, 1, 2].map((i) => `talk-${generation}-${i}`),
    doomed: `doomed-${generation}`,
    imported: `imported-${generation}`,
    reborn: `reborn-${generation}`,
  }
}

/** What is imported: the same for all importers, however often. */
export function importedTags(session: string): string[] {
  return Array.from({ length: 25 }, (_, i) => `${session.replaceAll('-', 'x')}n${i}`)
}

/** Longer than the others now and then, so that segments fill up and writes tear. */
export function contentOf(tag: string, bytes: number): string {
  return `${tag} ${'and so on '.repeat(Math.ceil(bytes / 10))}`
}

export function tagOf(message: { readonly content?: unknown }): string {
  return String(message.content).split(' ', 1)[0] as string
}
