/** The file with the key of a server for its own machine: `server.key`. Only its owner may read it. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { HoldfastError } from '../errors.ts'
import { isIntactKey } from '../server/api-keys.ts'

/** Undefined if there is no such file. DAMAGED if it holds no key, UNREADABLE if it cannot be read: it is never written over then. */
export function readServerKey(file: string): string | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new HoldfastError(
      'UNREADABLE',
      `The key of this server in ${file} cannot be read (${code ?? String(error)}). Nothing was changed. Check its owner and rights, and what lies there.`,
      { cause: error },
    )
  }
  const key = text.trim()
  if (isIntactKey(key)) return key
  throw new HoldfastError(
    'DAMAGED',
    `The key of this server in ${file} is damaged. Nothing was changed. Put it back from a copy, or delete the file: the server then makes ` +
      'another key and revokes this one.',
    { details: { reason: 'rotten', file } },
  )
}

/** Puts a whole file in place: a process that dies here leaves the former one, or none. */
export function writeServerKey(file: string, key: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.tmp`
  rmSync(draft, { force: true })
  writeFileSync(draft, `${key}\n`, { mode: 0o600, flag: 'wx' })
  renameSync(draft, file)
}
