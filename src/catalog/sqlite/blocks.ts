/**
 * Checksums of the blocks of the full-text index. FTS5 has none of its own: a flipped bit in a word would hide the texts that have it, without any error.
 * Triggers note which blocks a transaction wrote; their checksums are computed right after it.
 */
import { crc32 } from 'node:zlib'
import type { Database } from './database.ts'
import { notWritten } from './sums.ts'

/** Blocks of about 4 KiB that are read together. */
const TOGETHER = 256

/** Computes the checksums that are missing. */
export function sumBlocks(database: Database): void {
  while (database.get('SELECT 1 AS one FROM blocks WHERE sum IS NULL LIMIT 1') !== undefined) {
    // In one transaction: another process may write the same block again.
    database.transaction(() => {
      const blocks = database.blobs(
        `SELECT b.id AS id, w.block AS block FROM blocks b JOIN words_data w ON w.id = b.id WHERE b.sum IS NULL LIMIT ${TOGETHER}`,
      )
      for (const { id, block } of blocks) database.run('UPDATE blocks SET sum = ? WHERE id = ?', crc32(block), id)
      if (blocks.length === 0) database.run('DELETE FROM blocks WHERE sum IS NULL')
    })
  }
}

/** A change of the index's settings writes into this block in place, which fires no trigger. */
const STRUCTURE = 10

export function noteSettings(database: Database): void {
  database.run('UPDATE blocks SET sum = NULL WHERE id = ?', STRUCTURE)
  sumBlocks(database)
}

/** Throws CatalogBroken if a block is not what was written. Lets others run now and then. */
export async function checkBlocks(database: Database, breath: () => Promise<void>): Promise<void> {
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const blocks = database.blobs(
      `SELECT w.id AS id, w.block AS block, b.sum AS sum FROM words_data w LEFT JOIN blocks b ON b.id = w.id
       WHERE w.id > ? ORDER BY w.id LIMIT ${TOGETHER}`,
      after,
    )
    for (const { block, sum } of blocks) if (sum !== null && sum !== crc32(block)) throw notWritten()
    const last = blocks.at(-1)
    if (last === undefined) return
    after = last.id
    await breath()
  }
}
