import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { errorCode } from './disk.ts'
import { mountOf, nodeDisk } from './node-disk.ts'

const MOUNTS = [
  '22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw',
  '23 22 0:21 / /proc rw,nosuid - proc proc rw',
  '24 22 0:40 / /home rw,relatime shared:2 master:7 - xfs /dev/vdb rw',
  '25 24 0:41 / /home/me/remote rw,relatime - nfs4 server:/export rw,vers=4.2',
  '26 22 0:42 / /mnt/with\\040space\\134and\\011tab rw - fuse.sshfs me@host: rw',
  '27 22 0:43 / /data rw - ext4 /dev/vdc rw',
  '28 22 0:44 / /data rw - 9p share rw',
  '',
].join('\n')

describe('the mount that holds a path', () => {
  test.each([
    ['/', '/', 'ext4'],
    ['/var/lib/store', '/', 'ext4'],
    ['/home', '/home', 'xfs'],
    ['/home/me', '/home', 'xfs'],
    ['/homeless', '/', 'ext4'],
    ['/home/me/remote', '/home/me/remote', 'nfs4'],
    ['/home/me/remote/deep/store', '/home/me/remote', 'nfs4'],
    ['/home/me/remotely', '/home', 'xfs'],
    ['/mnt/with space\\and\ttab/store', '/mnt/with space\\and\ttab', 'fuse.sshfs'],
    ['/data/store', '/data', '9p'],
  ])('%s is on %s', (path, mount, type) => {
    expect(mountOf(path, MOUNTS)).toEqual({ mount, type })
  })

  test('is unknown where the list is empty or strange', () => {
    expect(mountOf('/a', '')).toBeUndefined()
    expect(mountOf('/a', 'nothing like it\n22 1 254:0 /')).toBeUndefined()
    expect(mountOf('/elsewhere', '27 22 0:43 / /data rw - ext4 /dev/vdc rw')).toBeUndefined()
  })

  test('has a type for every directory here', async () => {
    // Other systems do not tell, and the store opens there without asking.
    const found = await nodeDisk.fileSystem(tmpdir())
    if (process.platform === 'linux') expect(found?.type).toMatch(/^[a-z0-9.]+$/)
    else expect(found).toBeUndefined()
  })
})

describe('a file', () => {
  let directory: string
  let path: string
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'holdfast-'))
    path = join(directory, 'file')
  })
  afterEach(() => rm(directory, { recursive: true }))

  test('is made only where that was asked for', async () => {
    for (const mode of ['append', 'read'] as const)
      expect(errorCode(await nodeDisk.open(path, mode).catch((error: unknown) => error))).toBe('ENOENT')
    await (await nodeDisk.open(path, 'create')).close()
    await (await nodeDisk.open(path, 'append')).close()
    if (process.platform !== 'win32') expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  test('that exists is opened as it is, and never cut', async () => {
    await writeFile(path, 'content')
    const file = await nodeDisk.open(path, 'create')
    expect(file.stat()).toMatchObject({ size: 7, links: 1 })
    await file.close()
    expect(await readFile(path, 'utf8')).toBe('content')
  })

  test('is written at its end only, whichever handle writes and whatever was read', async () => {
    const [one, other] = [await nodeDisk.open(path, 'create'), await nodeDisk.open(path, 'append')]
    expect(one.writeSync(Buffer.from('a'))).toBe(1)
    expect(await other.write(Buffer.from('bc'))).toBe(2)
    expect(one.readSync(0, 10).toString()).toBe('abc')
    expect(one.writeSync(Buffer.from('d'))).toBe(1)
    expect((await other.read(1, 2)).toString()).toBe('bc')
    expect((await other.read(2, 100)).toString()).toBe('cd')
    expect((await other.read(100, 10)).length).toBe(0)
    await one.sync()
    for (const file of [one, other]) await file.close()
  })

  test('that was removed while open says that it has no name left', async () => {
    const file = await nodeDisk.open(path, 'create')
    await nodeDisk.remove(path)
    expect(file.stat().links).toBe(0)
    await file.close()
  })

  test('a directory is made once and found afterwards, and its names can be synced', async () => {
    const inner = join(directory, 'inner')
    await nodeDisk.makeDirectory(inner)
    await nodeDisk.makeDirectory(inner)
    expect(await nodeDisk.list(directory)).toEqual(['inner'])
    await nodeDisk.syncDirectory(inner)
    if (process.platform !== 'win32') expect((await stat(inner)).mode & 0o777).toBe(0o700)
    expect(errorCode(await nodeDisk.makeDirectory(join(directory, 'no', 'parent')).catch((error: unknown) => error))).toBe('ENOENT')
  })

  test('the boot id stays the same', async () => {
    expect(await nodeDisk.bootId()).toBe(await nodeDisk.bootId())
    expect(await nodeDisk.bootId()).not.toBe('')
  })
})
