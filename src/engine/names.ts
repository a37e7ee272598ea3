/**
 * The names of journals, the same on every engine that keeps more than one process's memory, so that a journal can move from one to another:
 * `<32 hex of sha256(space)>/<2 hex>/<slug>-<32 hex of sha256(space NUL id)>`. The hashes make names injective, bounded and free of case; the
 * slug is for people. The id itself stands in the journal's first record.
 */
import { hash } from 'node:crypto'

/** The space of the store's own facts. No caller can reach it. */
export const STORE_SPACE = '_store'

/** The space of the keys of an encrypted store's sessions. They are no part of a backup of the sessions. */
export const KEY_SPACE = '_keys'

export function journalName(space: string, id: string): string {
  const digest = sha256(`${space}\0${id}`)
  return `${spaceName(space)}/${digest.slice(0, 2)}/${slug(id)}-${digest}`
}

/** The name of a journal of which only the hashes are known. */
export function bareName(space: string, digest: string): string {
  return `${space}/${digest.slice(0, 2)}/-${digest}`
}

export function spaceName(space: string): string {
  return sha256(space)
}

/** Whether a journal holds facts of the store itself: users do not count it as a session. */
export function isStoresOwn(name: string): boolean {
  return [STORE_SPACE, KEY_SPACE].some((space) => name.startsWith(`${spaceName(space)}/`))
}

/** A name that did not come from here could lead anywhere. */
export function isJournalName(name: string): boolean {
  return /^[0-9a-f]{32}\/[0-9a-f]{2}\/[a-z0-9-]{0,24}-[0-9a-f]{32}$/.test(name)
}

function slug(id: string): string {
  return id
    .slice(0, 24)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '-')
    .slice(0, 24)
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32)
}

export function keySession(number: number): string {
  return `sessions.${number}`
}
