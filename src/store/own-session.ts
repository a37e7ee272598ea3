/** Sessions of the store's own space that hold something about one other space. Each space has its own, so none can use up what another needs. */
import { hash } from 'node:crypto'
import { LIMITS } from '../record/limits.ts'

/** `<kind>:<space>`; a name that would be too long ends with a hash of the space. */
export function ownSession(kind: 'imports' | 'quarantine', space: string): string {
  const name = `${kind}:${space}`
  return Buffer.byteLength(name) <= LIMITS.idBytes ? name : `${kind}#${hash('sha256', space, 'hex')}`
}
