/** Every file of a store, whoever wrote it, to look for what must not be there. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface StoreFile {
  readonly path: string
  readonly bytes: Buffer
}

export function filesOf(directory: string): StoreFile[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path, bytes: readFileSync(path) }))
}
