/**
 * Disks that are really full. Small ones, which several processes fill: what was acknowledged stays, what was refused never appears,
 * and they go on when there is room again. A delete and a purge need room themselves, and find it in the reserve.
 */
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { requirePlatform } from '../platform.ts'
import { Client } from '../processes/client.ts'
import { inspect } from '../processes/inspection.ts'
import type { LoggedAttempt } from '../processes/log.ts'
import { type Mount, mountExt4, mountTmpfs } from '../processes/mount.ts'
import { Random } from '../simulation/random.ts'

const DISKS = [
  { disk: 'in memory', platform: requirePlatform('tmpfs'), make: () => mountTmpfs(8) },
  { disk: 'of blocks', platform: requirePlatform('ext4'), make: () => mountExt4(8) },
]
const BALLAST_BYTES = 2 * 1024 * 1024
const WRITERS = 3

for (const { disk, platform, make } of DISKS)
  describe(`a full disk ${disk}`, () => {
    let mount: Mount
    let store: string
    let clients: Client[]
    const random = new Random(7)

    beforeEach(async () => {
      if (!platform.available) return
      mount = make()
      store = join(mount.directory, 'store')
      writeFileSync(join(mount.directory, 'ballast'), Buffer.alloc(BALLAST_BYTES))
      clients = []
      for (let i = 0; i < WRITERS; i++) clients.push(await Client.start({ directory: store, name: `c${i}`, segmentBytes: 512 * 1024 }))
      expect(await clients[0]?.wish('create')).toMatchObject({ told: 'done' })
    })

    afterEach(async () => {
      if (!platform.available) return
      for (const client of clients) await client.finish()
      mount.dispose()
    })

    /** Appends until even the smallest record is refused. */
    async function fill(client: Client): Promise<LoggedAttempt> {
      for (let largest = 150_000; ; ) {
        const told = await client.wish('append', 100 + random.int(largest))
        if (told.told !== 'done' && largest <= 100) return told
        if (told.told !== 'done') largest = Math.floor(largest / 2)
      }
    }

    function attempts(): LoggedAttempt[] {
      return clients.flatMap((client) => client.attempts)
    }

    test.skipIf(!platform.available)('is told as NO_SPACE; writers go on without opening anew once there is room again', async () => {
      const refusals = await Promise.all(clients.map(fill))
      expect(refusals).toMatchObject(clients.map(() => ({ told: 'none', code: 'NO_SPACE' })))
      const refused = attempts().filter(({ told }) => told === 'none').length
      rmSync(join(mount.directory, 'ballast'))
      for (const client of clients) expect(await client.wish('append', 1000)).toMatchObject({ told: 'done' })
      const { findings, first } = await inspect(store, attempts())
      expect(findings).toEqual([])
      const acknowledged = attempts().filter(({ told }) => told === 'done').length
      process.stdout.write(
        `full disk: ${JSON.stringify({ acknowledged, refused, torn: first.torn, rotten: first.rotten, segments: first.segments })}\n`,
      )
      expect(acknowledged).toBeGreaterThan(20)
      expect(first.torn).toBeGreaterThan(0)
    })

    test.skipIf(!platform.available)('can be emptied: a delete and a purge find room in the reserve', async () => {
      const [first, second, third] = clients as [Client, Client, Client]
      await Promise.all(clients.map(fill))
      expect(await first.wish('append', 1)).toMatchObject({ told: 'none', code: 'NO_SPACE' })
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
  })

function roomIn(directory: string): number {
  const { bfree, bsize } = statfsSync(directory)
  return bfree * bsize
}
