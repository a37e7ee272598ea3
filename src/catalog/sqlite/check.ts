/**
 * A check of a whole catalog. An answer shows whether its own rows are what was written; only this finds rows and words that an answer should have had.
 * It reads the file over a connection of its own, a piece at a time, while others write: a reader that stays would keep an erasure from emptying the log.
 */
import { setImmediate } from 'node:timers/promises'
import { CatalogBroken, CatalogUnavailable } from '../../engine/catalog.ts'
import { checkExtraction, checkTask, EXTRACTION_COLUMNS, TASK_COLUMNS } from './archive-rows.ts'
import { checkBlocks } from './blocks.ts'
import { Database, integer, text, type Value } from './database.ts'
import { documentSum } from './documents.ts'
import { checkMeta } from './meta.ts'
import { daySum } from './put.ts'
import { requireTables } from './schema.ts'
import { COUNTED_SQL, LISTED, OTHERS, READ, shownIn, TEXT } from './session-columns.ts'
import { MODEL_SQL } from './stats.ts'
import { notWritten } from './sums.ts'

/** Rows that are read together. */
const TOGETHER = 500

/** Why the catalog is broken; undefined if it is not, if it cannot be read now, or if `signal` ended the check. */
export type CheckFile = (path: string, signal?: AbortSignal) => Promise<string | undefined>

export const checkFile: CheckFile = async (path, signal) => {
  try {
    const database = new Database(path)
    try {
      requireTables(database)
      await check(database, async () => {
        await setImmediate()
        signal?.throwIfAborted()
      })
    } finally {
      database.close()
    }
  } catch (error) {
    if (error instanceof CatalogBroken) return error.message
    if (!(error instanceof CatalogUnavailable || signal?.aborted === true)) throw error
  }
  return undefined
}

type Breath = () => Promise<void>

/** Throws CatalogBroken. */
async function check(database: Database, breath: Breath): Promise<void> {
  // Rows against their checksums first: a text that is not UTF-8 may be in a message of SQLite's own check.
  for (const { key, ...row } of database.all(`SELECT ${text('key')}, ${text('value')}, ${integer('sum')} FROM meta`))
    checkMeta(key as string, row)
  await checkSessions(database, breath)
  for (const [table, sum] of LINEAR) {
    const row = database.get(`SELECT ${integer('count(*)', 'wrong')} FROM ${table} WHERE (${sum}) IS NOT ${table}.sum`)
    if (row?.wrong !== 0) throw notWritten()
    await breath()
  }
  for (const archives of ARCHIVES) await checkArchives(database, archives, breath)
  await checkBlocks(database, breath)
  // Its structure, each index against its table, and the index of words.
  for (const { name } of database.all(`SELECT ${text('name')} FROM sqlite_master WHERE type = 'table'`)) {
    const [found] = database.all(`SELECT ${text('integrity_check', 'found')} FROM pragma_integrity_check(?) LIMIT 1`, name ?? '')
    if (found?.found !== 'ok') throw new CatalogBroken(`SQLite: ${found?.found}`)
    await breath()
  }
}

const LINEAR = [
  ['documents', documentSum('documents')],
  ['days', daySum()],
  ['models', MODEL_SQL],
] as const

async function checkSessions(database: Database, breath: Breath): Promise<void> {
  const groups = [LISTED, READ, TEXT, OTHERS]
  const columns = groups.map((group) => group.select()).join(', ')
  for (let after = 0; ; ) {
    const rows = database.all(
      `SELECT ${integer('sid')}, ${text('shown')}, ${columns}, ${integer(`(${COUNTED_SQL}) IS counted_sum`, 'counted')} FROM sessions
       WHERE sid > ? ORDER BY sessions.sid LIMIT ${TOGETHER}`,
      after,
    )
    for (const row of rows) {
      shownIn(row)
      for (const group of groups) group.read(row)
      if (row.counted !== 1) throw notWritten()
    }
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.sid as number
    await breath()
  }
}

const ARCHIVES = [
  { select: `${TASK_COLUMNS} FROM tasks t`, table: 't', key: ['sid', 'archive'], checkRow: checkTask },
  { select: `${EXTRACTION_COLUMNS} FROM extractions e`, table: 'e', key: ['sid', 'archive', 'place'], checkRow: checkExtraction },
]

async function checkArchives(
  database: Database,
  { select, table, key, checkRow }: (typeof ARCHIVES)[number],
  breath: Breath,
): Promise<void> {
  // With the table: the bare names are those of the results, and every page would be sorted by those.
  const columns = key.map((column) => `${table}.${column}`).join(', ')
  const after = `(${columns}) > (${key.map(() => '?').join(', ')})`
  for (let last: Value[] = key.map(() => -1); ; ) {
    const rows = database.all(`SELECT ${select} WHERE ${after} ORDER BY ${columns} LIMIT ${TOGETHER}`, ...last)
    rows.forEach(checkRow)
    const row = rows.at(-1)
    if (row === undefined) return
    last = key.map((column) => row[column] ?? null)
    await breath()
  }
}
