/**
 * `holdfast.json`: what a store directory says of itself. It is appended to, like everything else: two processes that make a store at
 * once both write a line, and the first intact one counts. It closes with a checksum like a record, the same in every version, so that
 * rot cannot pass for the future.
 */
import { join } from 'node:path'
import { HoldfastError } from '../../errors.ts'
import { encodeWithCrc, intactCrc, splitLines } from '../../record/line.ts'
import { FORMAT_VERSION } from '../../record/record.ts'
import type { Disk } from './disk.ts'
import { isFull, isReadOnly, unreadable, unwritable } from './failures.ts'

const FILE = 'holdfast.json'

/** Reads who this store is, or says it if the store is new. Returns its id and what an operator should know. */
export async function identify(
  disk: Disk,
  root: string,
  storeId: string,
  madeAt: string,
): Promise<{ readonly store: string; readonly warnings: string[] }> {
  const found = await read(disk, root)
  if (found !== undefined) {
    check(found)
    return { store: found.store, warnings: [] }
  }
  const names = await disk.list(root).catch((error: unknown) => {
    throw unreadable(error, 'The store')
  })
  // Watermarks without sessions are of sessions that vanished.
  const used = names.includes('sessions') || names.includes('watermarks')
  let written = true
  await write(disk, root, { holdfast: FORMAT_VERSION, store: storeId, made: madeAt }).catch((error: unknown) => {
    // What is there can be read all the same.
    if (!used || !(isFull(error) || isReadOnly(error))) throw unwritable(error, 'The store')
    written = false
  })
  const now = await read(disk, root)
  if (now !== undefined) check(now)
  const store = now?.store ?? storeId
  if (!used) return { store, warnings: [] }
  const warning =
    'holdfast.json is missing or damaged beside existing sessions: part of this store may have been lost. ' +
    `It ${written ? 'was' : 'could not be'} written again; run \`holdfast doctor\`.`
  return { store, warnings: [warning] }
}

interface Identity {
  readonly holdfast: number
  readonly store: string
}

async function read(disk: Disk, root: string): Promise<Identity | undefined> {
  const names = await disk.list(root).catch((error: unknown) => {
    throw unreadable(error, 'The store')
  })
  if (!names.includes(FILE)) return undefined
  try {
    const file = await disk.open(join(root, FILE), 'read')
    try {
      const bytes = await file.read(0, file.stat().size)
      return splitLines(bytes, 0)
        .lines.map((line) => parse(line.bytes))
        .find((identity) => identity !== undefined)
    } finally {
      await file.close()
    }
  } catch (error) {
    throw unreadable(error, FILE)
  }
}

async function write(disk: Disk, root: string, identity: Identity & { made: string }): Promise<void> {
  const file = await disk.open(join(root, FILE), 'create')
  try {
    await file.write(Buffer.from(`${file.stat().size > 0 ? '\n' : ''}${encodeWithCrc(JSON.stringify(identity))}`))
    await file.sync()
  } finally {
    await file.close()
  }
  await disk.syncDirectory(root)
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
