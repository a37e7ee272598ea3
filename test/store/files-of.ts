/** Every file of a store, whoever wrote it, to look for what must not be there. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface StoreFile {
  readonly path: string
  readonly bytes: Buffer
}

/** The store may be in use: if a file gets another name while they are read, all are read again. */
export function filesOf(directory: string): StoreFile[] {
  for (;;) {
    try {
      return filesNow(directory)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}

function filesNow(directory: string): StoreFile[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path, bytes: readFileSync(path) }))
}
