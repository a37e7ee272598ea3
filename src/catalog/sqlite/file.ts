/**
 * Where the catalog of a directory lies:
 *
 *     catalog.db -> catalog.db.<random>      a link, and the database itself
 *     catalog.db.<random>-wal, …-shm         SQLite's own
 *     catalog.db.<random>.left               in which state a process left the database when it closed it
 *     catalog.db.<random>.draft              one that is being made anew, beside the one in use
 *     catalog.db.turn/<pid>.<random>         there while somebody lets the link lead elsewhere
 *     catalog.db.turn.<pid>.<random>         the same of somebody who is about to
 *
 * A database that is made anew has a new name, and the link is moved to it at once. So whoever still has the old one open shares no file
 * with the new one: SQLite finds its companions by name, and two databases that shared them would spoil each other. Removing `catalog.db`
 * while programs use it is therefore safe: each of them looks where the link leads before it uses what it has open.
 *
 * Where there are no links (some Windows), `catalog.db` is the database itself; there, a file that is open cannot be removed.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, open, readdir, readFile, readlink, rename, rm, rmdir, stat, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CatalogUnavailable } from '../../engine/catalog.ts'
import type { Ids } from '../../engine/ids.ts'
import { HoldfastError } from '../../errors.ts'

const LINK = 'catalog.db'
const DRAFT = '.draft'
const TURN = `${LINK}.turn`
const CLAIM = `${TURN}.`
/** How often it is looked whether another one is done. It takes milliseconds: one that lasts longer than this has been left behind by the dead. */
const LOOK_MS = 10
const TURN_MS = 30_000
const PID_DIGITS = 8
/** What SQLite puts beside a database, named like it. */
const COMPANIONS = ['-wal', '-shm', '-journal']

/** The path of the database; undefined if there is none. */
export async function currentFile(directory: string): Promise<string | undefined> {
  const link = join(directory, LINK)
  return attempt(async () => {
    try {
      const target = join(directory, basename(await readlink(link)))
      return (await isFilled(target)) ? target : undefined
    } catch (error) {
      // Not a link: somebody has copied the store without its links.
      if (codeOf(error) === 'EINVAL' || codeOf(error) === 'UNKNOWN') return link
      if (codeOf(error) === 'ENOENT') return undefined
      throw error
    }
  })
}

export function isThere(path: string): boolean {
  return existsSync(path)
}

/** Notes in which state a process leaves the database. Without a note, the next process checks the file. */
export async function noteState(path: string): Promise<void> {
  const state = await stateOf(path)
  if (state !== undefined) await writeFile(`${path}.left`, state.text, { mode: 0o600 }).catch(() => undefined)
}

/**
 * How many bytes a database has that is in another state than the process left it that closed it last: that process died, or the file was changed or
 * copied. Undefined if it is in that state.
 */
export async function changedBytes(path: string): Promise<number | undefined> {
  const state = await stateOf(path)
  const isAsLeft = state === undefined || (await readFile(`${path}.left`, 'utf8').catch(() => undefined)) === state.text
  return isAsLeft ? undefined : state.bytes
}

async function stateOf(path: string): Promise<{ readonly text: string; readonly bytes: number } | undefined> {
  const found = await stat(path).catch(() => undefined)
  return found && { text: `${found.size} ${found.mtimeMs}`, bytes: found.size }
}

/**
 * Makes a new, empty database file, lets the link lead to it, and removes those before it. `confirm` throws if the directory is no longer the store's: it
 * may be unmounted between any two steps. Then whatever was created in its place is removed.
 */
export async function newFile(directory: string, ids: Ids, confirm: () => Promise<unknown> = () => Promise.resolve()): Promise<string> {
  await confirm()
  return inTurn(directory, async () => {
    const name = `${LINK}.${ids.hex(16)}`
    await confirm()
    await (await open(join(directory, name), 'wx', 0o600)).close()
    try {
      // Before others are removed, and after.
      await confirm()
      const path = await leadTo(directory, name)
      await confirm()
      return path
    } catch (error) {
      await takeBack(directory, name).catch(() => undefined)
      throw error
    }
  })
}

/** If the directory is back by now, no file there has this name. */
async function takeBack(directory: string, name: string): Promise<void> {
  await rm(join(directory, name), { force: true })
  const link = join(directory, LINK)
  if (basename(await readlink(link)) === name) await rm(link)
}

/**
 * Makes a file for a database that nobody else knows of yet, and removes what such ones have left that were never finished. Its name ends with the
 * number of the process that makes it: as long as that lives, it is left alone.
 */
export async function draftFile(directory: string, ids: Ids): Promise<string> {
  return attempt(async () => {
    for (const name of await readdir(directory)) {
      if (isDraft(name) && !isAlive(makerOf(name))) await rm(join(directory, name), { force: true })
    }
    const maker = process.pid.toString(16).padStart(PID_DIGITS, '0')
    const path = join(directory, `${LINK}.${ids.hex(16)}${maker}${DRAFT}`)
    await (await open(path, 'wx', 0o600)).close()
    return path
  })
}

/** Puts a database that was made in such a file, and is closed, in the place of the one in use. Durable before the link leads to it. */
export async function publishDraft(directory: string, path: string): Promise<void> {
  await attempt(async () => {
    // Under its new name it would be without them. They may be left behind, empty: what is in the log would be lost.
    if (await isFilled(`${path}-wal`)) throw new Error('its log is not empty.')
    for (const companion of COMPANIONS) await rm(`${path}${companion}`, { force: true })
    const handle = await open(path, 'r+')
    await handle.sync().finally(() => handle.close())
  })
  await inTurn(directory, async () => {
    const name = basename(path).slice(0, -DRAFT.length)
    await rename(path, join(directory, name))
    try {
      await leadTo(directory, name)
    } catch (error) {
      await rm(join(directory, name), { force: true })
      throw error
    }
  })
}

export async function removeDraft(path: string): Promise<void> {
  for (const companion of ['', ...COMPANIONS]) await rm(`${path}${companion}`, { force: true }).catch(() => undefined)
}

async function leadTo(directory: string, name: string): Promise<string> {
  const link = join(directory, LINK)
  const fresh = join(directory, `${name}.link`)
  try {
    await symlink(name, fresh)
    await rename(fresh, link)
  } catch (error) {
    if (codeOf(error) !== 'EPERM' && codeOf(error) !== 'ENOSYS') throw error
    await rename(join(directory, name), link)
    return link
  }
  await removeOthers(directory, name)
  return join(directory, name)
}

/** Databases that no link leads to. One that is still open somewhere goes on existing for those who have it. */
async function removeOthers(directory: string, current: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (!name.startsWith(LINK) || name === LINK || name === TURN || name.startsWith(current) || isDraft(name)) continue
    if (name.startsWith(CLAIM) && isAlive(pidOf(name.slice(CLAIM.length)))) continue
    await rm(join(directory, name), { recursive: true, force: true }).catch(() => undefined)
  }
}

function makerOf(name: string): number {
  const [, digits = ''] = name.slice(LINK.length + 1).match(/^[0-9a-f]{16}([0-9a-f]{8})\./) ?? []
  return Number.parseInt(digits, 16)
}

function isAlive(pid: number): boolean {
  if (!(pid > 0)) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function isDraft(name: string): boolean {
  return name.startsWith(LINK) && name.includes(DRAFT)
}

/** A database that was just begun is empty, and so is one that was cut off: neither is worth waiting for. */
async function isFilled(path: string): Promise<boolean> {
  return stat(path).then(
    ({ size }) => size > 0,
    (error: unknown) => {
      if (codeOf(error) === 'ENOENT') return false
      throw error
    },
  )
}

/**
 * One after the other: who removes what no link leads to must not meet one to which another process is about to let it lead. Of a process that has died
 * in between, the turn is over.
 *
 * A turn is a directory with one mark in it, whose name nobody else's ever has. It is put in place by a rename, which succeeds where there is none or an
 * empty one; and it ends when its mark is removed. So whoever ends the turn of a dead process, however late, ends that one and no other.
 */
async function inTurn<T>(directory: string, work: () => Promise<T>): Promise<T> {
  const take = (): Promise<string | undefined> => attempt(() => takeTurn(directory))
  let mark = await take()
  while (mark === undefined) {
    await sleep(LOOK_MS)
    mark = await take()
  }
  try {
    return await attempt(work)
  } finally {
    await endTurn(mark).catch(() => undefined)
  }
}

/** The mark of the turn that was taken; undefined if it is another's. */
async function takeTurn(directory: string): Promise<string | undefined> {
  const turn = join(directory, TURN)
  const holder = await holderOf(turn)
  if (holder !== undefined) {
    if (await isOver(holder)) await endTurn(holder)
    return undefined
  }
  const claim = await mkdtemp(join(directory, `${CLAIM}${process.pid}.`))
  const mark = basename(claim).slice(CLAIM.length)
  try {
    await (await open(join(claim, mark), 'wx', 0o600)).close()
    await rename(claim, turn)
    return join(turn, mark)
  } catch (error) {
    await rm(claim, { recursive: true, force: true })
    // Another one was quicker.
    if (codeOf(error) === 'ENOTEMPTY' || codeOf(error) === 'EEXIST' || (await holderOf(turn)) !== undefined) return undefined
    throw error
  }
}

async function holderOf(turn: string): Promise<string | undefined> {
  try {
    const [mark] = await readdir(turn)
    if (mark !== undefined) return join(turn, mark)
    // Left by one that died as it ended. Not everywhere can a rename replace it.
    await removeEmpty(turn)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
  return undefined
}

/** Numbers come again, so that a living process is no proof for long. */
async function isOver(mark: string): Promise<boolean> {
  const begunMs = await stat(mark).then(
    ({ mtimeMs }) => mtimeMs,
    () => Date.now(),
  )
  return !isAlive(pidOf(basename(mark))) || Math.abs(Date.now() - begunMs) > TURN_MS
}

async function endTurn(mark: string): Promise<void> {
  await rm(mark, { force: true })
  await removeEmpty(dirname(mark))
}

/** Nothing happens if it is another's by now. */
async function removeEmpty(turn: string): Promise<void> {
  await rmdir(turn).catch(() => undefined)
}

function pidOf(mark: string): number {
  return Number.parseInt(mark, 10)
}

async function attempt<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof HoldfastError) throw error
    throw new CatalogUnavailable('unwritable', `The catalog cannot be made where the store lies: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
