/**
 * `holdfast.json`: the id and the format of a store. It is appended to, like everything else: two processes that make a store at
 * once both write a line, and the first intact one counts. It closes with a checksum like a record, the same in every version, so that
 * rot cannot pass for the future.
 *
 * Nothing else says which store this is, so a file without an intact line is refused, and left as it is. Only before there are sessions is it completed:
 * a process may have died inside of the first write. Therefore the line is durable before the first session is made. A disk that failed to sync it
 * may have dropped it, and no later sync shows that. So each process that finds no sessions appends the line again and syncs it.
 */
import { join } from 'node:path'
import { HoldfastError } from '../../errors.ts'
import { encodeWithCrc, intactCrc, splitLines } from '../../record/line.ts'
import { FORMAT_VERSION } from '../../record/record.ts'
import type { Disk, FileStat } from './disk.ts'
import { isFull, isMissing, isReadOnly, unreadable, unwritable } from './failures.ts'

export const IDENTITY_FILE = 'holdfast.json'
/** A file that is larger is synced and not appended to. */
const MOST_BYTES = 1024

export interface Identified {
  readonly store: string
  /** The file as it was read; undefined if the store has none and it could not be written. */
  readonly file: FileStat | undefined
  readonly warnings: string[]
}

/** Reads which store this is. Writes it if the store is new. Returns its id and what an operator should know. */
export async function identify(disk: Disk, root: string, storeId: string, madeAt: string): Promise<Identified> {
  const found = await readIdentity(disk, root)
  if (found?.identity !== undefined) check(found.identity)
  const names = await disk.list(root).catch((error: unknown) => {
    throw unreadable(error, 'The store')
  })
  // Watermarks without sessions are of sessions that vanished.
  const used = names.includes('sessions') || names.includes('watermarks')
  if (found?.identity !== undefined) {
    const { identity, file } = found
    if (!used) await confirm(disk, root, identity, file.size)
    return { store: identity.store, file, warnings: [] }
  }
  if (found !== undefined && used) throw brokenIdentity(root)
  let written = true
  await write(disk, root, { holdfast: FORMAT_VERSION, store: storeId, made: madeAt }).catch((error: unknown) => {
    // Sessions can be read without it.
    if (!used || !(isFull(error) || isReadOnly(error))) throw unwritable(error, 'The store')
    written = false
  })
  const now = await readIdentity(disk, root)
  if (now?.identity !== undefined) check(now.identity)
  const store = now?.identity?.store ?? storeId
  const file = now?.identity && now.file
  if (!used) return { store, file, warnings: [] }
  const warning =
    'holdfast.json is missing beside existing sessions: part of this store may have been lost. ' +
    `It ${written ? 'was' : 'could not be'} written again; run \`holdfast doctor\`.`
  return { store, file, warnings: [warning] }
}

export interface Identity {
  readonly holdfast: number
  readonly store: string
  readonly made?: string
}

/** Undefined if there is no such file. Its identity is undefined if it has no intact line. */
export async function readIdentity(
  disk: Disk,
  root: string,
): Promise<{ readonly identity: Identity | undefined; readonly file: FileStat } | undefined> {
  try {
    const handle = await disk.open(join(root, IDENTITY_FILE), 'read')
    try {
      const file = handle.stat()
      const { lines } = splitLines(await handle.read(0, file.size), 0)
      const identity = lines.map((line) => parse(line.bytes)).find((one) => one !== undefined)
      return { identity, file }
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw unreadable(error, `The file ${join(root, IDENTITY_FILE)}, which says which store this is,`)
  }
}

async function write(disk: Disk, root: string, identity: Identity): Promise<void> {
  const file = await disk.open(join(root, IDENTITY_FILE), 'create')
  try {
    await file.write(Buffer.from(`${file.stat().size > 0 ? '\n' : ''}${encodeWithCrc(JSON.stringify(identity))}`))
    await file.sync()
  } finally {
    await file.close()
  }
  await disk.syncDirectory(root)
}

/** Makes the line durable that another process wrote. Where nothing can be written, no session is made either. */
async function confirm(disk: Disk, root: string, { holdfast, store, made }: Identity, bytes: number): Promise<void> {
  try {
    if (bytes <= MOST_BYTES) return await write(disk, root, { holdfast, store, ...(made === undefined ? {} : { made }) })
    const file = await disk.open(join(root, IDENTITY_FILE), 'append')
    await file.sync().finally(() => file.close())
    await disk.syncDirectory(root)
  } catch (error) {
    if (!isFull(error) && !isReadOnly(error)) throw unwritable(error, 'The store')
  }
}

function parse(bytes: Uint8Array): Identity | undefined {
  if (intactCrc(bytes) === undefined) return undefined
  try {
    const value = JSON.parse(Buffer.from(bytes).toString('utf8')) as Partial<Identity>
    return typeof value.holdfast === 'number' && typeof value.store === 'string' ? (value as Identity) : undefined
  } catch {
    return undefined
  }
}

function brokenIdentity(root: string): HoldfastError {
  return new HoldfastError(
    'DAMAGED',
    `The file ${join(root, IDENTITY_FILE)}, which says which store this is, is damaged: it has no intact line. Nothing was changed. ` +
      'Copy it from a backup of this store. If there is none, move it out of the directory and open the store again: Holdfast then gives the ' +
      'store a new id, all sessions stay, and bytes that vanished before are no longer noticed.',
    { details: { reason: 'rotten', file: IDENTITY_FILE } },
  )
}

function check(identity: Identity): void {
  if (identity.holdfast <= FORMAT_VERSION) return
  throw new HoldfastError(
    'UNSUPPORTED_VERSION',
    `This store has format ${identity.holdfast}; this software reads up to ${FORMAT_VERSION}. Use a newer Holdfast.`,
    {
      details: { found: identity.holdfast, supported: FORMAT_VERSION },
    },
  )
}
