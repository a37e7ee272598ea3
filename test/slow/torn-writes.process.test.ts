/**
 * Writers that die inside a write, one after the other, each of them finding what the one before has torn. In memory, because there a
 * kill cuts a write in two; many disk file systems finish it.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runs } from '../long.ts'
import { requirePlatform } from '../platform.ts'
import { Child } from '../processes/children.ts'
import { Client } from '../processes/client.ts'
import { inspect } from '../processes/inspection.ts'
import { attemptsOf, readLog } from '../processes/log.ts'
import { mountTmpfs } from '../processes/mount.ts'
import { seeGrowth, segmentFiles } from '../processes/segments.ts'
import type { WriterOptions } from '../processes/writer/main.ts'

const tmpfs = requirePlatform('tmpfs')
const ENOUGH = runs(2, 4)
/** A busy machine lets many writes end before the kill arrives. */
const PATIENCE_MS = runs(20_000, 40_000)

function endsTorn(store: string): boolean {
  const fd = openSync(segmentFiles(store).at(-1) as string, 'r')
  const byte = Buffer.alloc(1)
  const { size } = fstatSync(fd)
  readSync(fd, byte, 0, 1, size - 1)
  closeSync(fd)
  return byte[0] !== 0x0a
}

/** Ends when the writer was killed, with luck in the middle of a large record. Its first one, behind what is torn, is left alone. */
async function killInsideWrite(options: WriterOptions): Promise<void> {
  const child = new Child('writer', options)
  let announced = 0
  child.onLine(() => {
    announced++
    if (announced >= 2 && seeGrowth(options.directory, 64 * 1024, 500)) child.signal('SIGKILL')
  })
  expect(await child.ended).toMatchObject({ signal: 'SIGKILL' })
}

test.skipIf(!tmpfs.available)('a line that a kill has torn costs nothing but itself, whoever writes behind it', async () => {
  const mount = mountTmpfs(2048)
  try {
    const directory = join(mount.directory, 'store')
    const log = join(mount.directory, 'log')
    const sizes = { smallestBytes: 1024 * 1024, largestBytes: 4 * 1024 * 1024, segmentBytes: 6 * 1024 * 1024 }
    // It lives through all of it, and every other time it is the one that writes behind the tear.
    const survivor = await Client.start({ directory, name: 'survivor', segmentBytes: sizes.segmentBytes })
    expect(await survivor.wish('create')).toMatchObject({ told: 'done' })
    const until = performance.now() + PATIENCE_MS
    let torn = 0
    let kills = 0
    while (torn < ENOUGH && performance.now() < until) {
      await killInsideWrite({ ...sizes, directory, log, name: 'w', seed: ++kills, lanes: 1 })
      if (!endsTorn(directory)) continue
      torn++
      if (torn % 2 === 0) expect(await survivor.wish('append')).toMatchObject({ told: 'done' })
    }
    await survivor.finish()
    const { findings, first, second } = await inspect(directory, [...attemptsOf(readLog(log)), ...survivor.attempts])
    process.stdout.write(`torn writes: ${JSON.stringify({ kills, torn, records: first.counted.length, damaged: second.torn })}\n`)
    expect(findings).toEqual([])
    expect(second.rotten).toEqual([])
    expect(torn).toBeGreaterThan(0)
    // What stands behind a seal is not in the journal, torn or not.
    expect(second.torn).toBeGreaterThan(0)
    expect(second.torn).toBeLessThanOrEqual(torn)
  } finally {
    mount.dispose()
  }
})
