/** File systems that do not keep appends of several processes in one order, and `exclusive: true`, the way to use them all the same. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Disk } from '../../src/engines/files/disk.ts'
import { nodeDisk } from '../../src/engines/files/node-disk.ts'
import { Client } from '../processes/client.ts'
import { inspect } from '../processes/inspection.ts'
import { openJournal } from '../processes/journal.ts'
import { attempt } from '../processes/log.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-systems-'))
})

afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** The real disk, but on another file system, as the system would tell. */
function diskOn(type: string): Disk {
  return { ...nodeDisk, fileSystem: async () => ({ type, mount: '/mnt/somewhere' }) }
}

describe.each(['nfs4', 'cifs', '9p', 'virtiofs', 'fuse.sshfs', 'fuse', 'glusterfs'])('on %s', (type) => {
  test('a store is refused, with the mount, the type and the ways out, and nothing is written', async () => {
    const refused = openJournal({ directory, disk: diskOn(type) })
    await expect(refused).rejects.toMatchObject({
      code: 'UNSUPPORTED_FILESYSTEM',
      outcome: 'none',
      details: { type, mount: '/mnt/somewhere' },
    })
    await expect(refused).rejects.toThrow(new RegExp(`/mnt/somewhere.*${type}.*local disk.*PostgreSQL.*exclusive: true`))
    expect(readdirSync(directory)).toEqual([])
  })

  test('one process may use it with `exclusive: true`', async () => {
    const opened = await openJournal({ directory, disk: diskOn(type), exclusive: true })
    const create = { name: 'create', kind: 'create', journal: 0, text: '' } as const
    expect(await attempt(opened, create, { name: 'create', process: 'test' })).toMatchObject({ told: 'done' })
    await opened.engine.close()
  })
})

test.each(['ext4', 'xfs', 'btrfs', 'tmpfs', 'overlay', 'apfs', 'zfs'])('on %s a store opens', async (type) => {
  const { engine } = await openJournal({ directory, disk: diskOn(type) })
  await engine.close()
})

test('the file system that the system tells of a temporary directory is one that keeps the promise', async () => {
  expect(await nodeDisk.fileSystem(directory)).toMatchObject({ mount: expect.stringMatching(/^\//) })
  const { engine } = await openJournal({ directory })
  await engine.close()
})

test('with `exclusive: true` the first process notices the second one, and what it is refused appears nowhere', async () => {
  const first = await Client.start({ directory, name: 'first', exclusive: true })
  expect(await first.wish('create')).toMatchObject({ told: 'done' })
  expect(await first.wish('append')).toMatchObject({ told: 'done' })
  const second = await Client.start({ directory, name: 'second', exclusive: true })
  expect(await first.wish('append')).toMatchObject({ told: 'none', code: 'UNAVAILABLE', error: expect.stringContaining('in another one') })
  expect(await second.wish('append')).toMatchObject({ told: 'done' })
  expect(await first.wish('append')).toMatchObject({ told: 'none', code: 'UNAVAILABLE' })
  expect(await second.wish('append')).toMatchObject({ told: 'done' })
  expect([await first.finish(), await second.finish()]).toMatchObject([{ code: 0 }, { code: 0 }])
  const { findings, first: found } = await inspect(directory, [...first.attempts, ...second.attempts])
  expect(findings).toEqual([])
  expect(found.counted.filter(({ record }) => record.type === 'messages.appended').length).toBe(3)
})
