/**
 * Disks that are really full. Small ones, which several processes fill: what was acknowledged stays, what was refused never appears,
 * and they go on when there is room again. A delete and a purge need room themselves, and find it in the reserve.
 */
import { appendFileSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { requirePlatform } from '../platform.ts'
import { Client } from '../processes/client.ts'
import { inspect } from '../processes/inspection.ts'
import type { LoggedAttempt } from '../processes/log.ts'
import { type Mount, mountExt4, mountTmpfs } from '../processes/mount.ts'
import { journalBytes } from '../processes/segments.ts'
import { Random } from '../simulation/random.ts'

const DISKS = [
  { disk: 'in memory', platform: requirePlatform('tmpfs'), make: () => mountTmpfs(8) },
  { disk: 'of blocks', platform: requirePlatform('ext4'), make: () => mountExt4(8) },
]
const BALLAST_BYTES = 2 * 1024 * 1024
const WRITERS = 3
/** More than fits: the journal stays in its first segment. */
const ONE_SEGMENT = 64 * 1024 * 1024

for (const { disk, platform, make } of DISKS)
  describe.skipIf(!platform.available)(`a full disk ${disk}`, () => {
    const random = new Random(7)
    let mount: Mount
    let store: string
    let ballast: string
    let clients: Client[]

    beforeEach(() => {
      mount = make()
      store = join(mount.directory, 'store')
      ballast = join(mount.directory, 'ballast')
      writeFileSync(ballast, Buffer.alloc(BALLAST_BYTES))
      clients = []
    })

    afterEach(async () => {
      for (const client of clients) await client.finish()
      mount.dispose()
    })

    async function start(count: number, segmentBytes: number): Promise<Client[]> {
      for (let i = 0; i < count; i++) clients.push(await Client.start({ directory: store, name: `c${i}`, segmentBytes }))
      expect(await clients[0]?.wish('create')).toMatchObject({ told: 'done' })
      return clients
    }

    /** Appends until even the smallest record is refused. */
    async function fill(client: Client): Promise<LoggedAttempt> {
      for (let largest = 150_000; ; ) {
        const told = await client.wish('append', random.int(largest))
        if (told.told !== 'done' && largest === 1) return told
        if (told.told !== 'done') largest = Math.ceil(largest / 3)
      }
    }

    function attempts(): LoggedAttempt[] {
      return clients.flatMap((client) => client.attempts)
    }

    test('is told as NO_SPACE; writers go on without opening anew once there is room again', async () => {
      const refusals = await Promise.all((await start(WRITERS, 512 * 1024)).map(fill))
      expect(refusals).toMatchObject(clients.map(() => ({ told: 'none', code: 'NO_SPACE' })))
      const refused = attempts().filter(({ told }) => told === 'none').length
      rmSync(ballast)
      for (const client of clients) expect(await client.wish('append', 1000)).toMatchObject({ told: 'done' })
      const { findings, first } = await inspect(store, attempts())
      expect(findings).toEqual([])
      const acknowledged = attempts().filter(({ told }) => told === 'done').length
      const counts = { acknowledged, refused, segments: first.segments, torn: first.torn, rotten: first.rotten.length }
      process.stdout.write(`full disk ${disk}: ${JSON.stringify(counts)}\n`)
      expect(acknowledged).toBeGreaterThan(20)
    })

    test('takes a part of a record: it is refused, and the next one is whole', async () => {
      const [client] = (await start(1, ONE_SEGMENT)) as [Client]
      expect(await client.wish('append', 1000)).toMatchObject({ told: 'done' })
      fillUp(ballast)
      truncateSync(ballast, statSync(ballast).size - 300_000)
      const before = journalBytes(store)
      expect(await client.wish('append', 600_000)).toMatchObject({ told: 'none', code: 'NO_SPACE' })
      expect(journalBytes(store)).toBeGreaterThan(before + 100_000)
      rmSync(ballast)
      expect(await client.wish('append', 1000)).toMatchObject({ told: 'done' })
      const { findings, first } = await inspect(store, attempts())
      expect(findings).toEqual([])
      expect(first.torn).toBe(1)
    })

    test('can be emptied: a delete and a purge find room in the reserve', async () => {
      const [first, second, third] = (await start(WRITERS, ONE_SEGMENT)) as [Client, Client, Client]
      await Promise.all(clients.map(fill))
      expect(await second.wish('delete')).toMatchObject({ told: 'done' })
      // A process that has a removed file open keeps its room.
      await Promise.all([second.finish(), third.finish()])
      const before = roomIn(mount.directory)
      const { freed = 0, error } = await first.purge()
      expect(error).toBeUndefined()
      expect(freed).toBeGreaterThan(1_000_000)
      expect(roomIn(mount.directory) - before).toBeGreaterThan(freed / 2)
      expect(await first.wish('create')).toMatchObject({ told: 'done' })
      expect(await first.wish('append', 1_000_000)).toMatchObject({ told: 'done' })
      const { findings } = await inspect(store, attempts())
      expect(findings).toEqual([])
    })

    test('can be emptied also if it was full when the next segment was needed', async () => {
      const [client] = (await start(1, 50_000)) as [Client]
      // This record ends its segment, and there is no room for the next one.
      expect(await client.wish('append', 60_000)).toMatchObject({ told: 'done' })
      fillUp(ballast)
      await fill(client)
      expect(await client.wish('delete')).toMatchObject({ told: 'done' })
      expect(await client.purge()).toMatchObject({ freed: expect.any(Number) })
      const { findings } = await inspect(store, attempts())
      expect(findings).toEqual([])
    })
  })

function roomIn(directory: string): number {
  const { bfree, bsize } = statfsSync(directory)
  return bfree * bsize
}

/** Takes all the room that is left. */
function fillUp(file: string): void {
  for (let bytes = 1024 * 1024; bytes >= 1; ) {
    try {
      appendFileSync(file, Buffer.alloc(bytes))
    } catch {
      bytes = Math.floor(bytes / 2)
    }
  }
}
