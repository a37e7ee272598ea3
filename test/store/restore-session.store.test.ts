/** One session restored from a backup into a store that is in use. */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newMasterKey } from '../../src/encryption/master-key.ts'
import { backUp } from '../../src/engines/files/backup.ts'
import { Handle } from '../../src/store/handle.ts'
import { readEntries } from '../../src/store/messages/entries.ts'
import { openStore } from '../../src/store/open-store.ts'
import { restoreSession } from '../../src/transfer/restore-session.ts'
import { backedUp, dyingDisk, idsOf, Place, say, UP_TO } from './backup-place.ts'

/** What can happen to the files of a session, so that the backup brings all of it back. */
const LOSSES: Record<string, (place: Place) => void> = {
  'its directory was removed': (place) => rmSync(place.directory('a'), { recursive: true }),
  'all segments were emptied': (place) => {
    for (const file of place.segments('a')) truncateSync(file, 0)
  },
  'its first segment was removed': (place) => rmSync(place.segments('a')[0] as string),
  'its last segment was removed': (place) => rmSync(place.segments('a').at(-1) as string),
  'its last segment was cut inside of a line': (place) => {
    const file = place.segments('a').at(-1) as string
    truncateSync(file, statSync(file).size - 37)
  },
  'a middle segment was removed and another one was cut': (place) => {
    const files = place.segments('a')
    rmSync(files[1] as string)
    truncateSync(files[2] as string, 100)
  },
  'bytes rotted in several segments': (place) => {
    for (const file of place.segments('a')) {
      const bytes = readFileSync(file)
      bytes.fill(0, 200, 260)
      writeFileSync(file, bytes)
    }
  },
  'its beginning was overwritten and its end removed': (place) => {
    const files = place.segments('a')
    const bytes = readFileSync(files[0] as string)
    bytes.fill('y', 0, 300)
    writeFileSync(files[0] as string, bytes)
    rmSync(files.at(-1) as string)
  },
}

test.for(Object.entries(LOSSES))('a session comes back as it was after %s', async ([, lose]) => {
  const place = await backedUp()
  const original = place.bytes('a')
  lose(place)
  const planned = await place.restore('a', { dryRun: true })
  expect(planned.restoredBytes + planned.repairedLines).toBeGreaterThan(0)
  const done = await place.restore('a')
  expect(done).toMatchObject({ id: 'a', segments: place.segments('a').length, keptErased: 0, status: 'ok', origins: [] })
  expect({ bytes: done.restoredBytes, lines: done.repairedLines }).toEqual({ bytes: planned.restoredBytes, lines: planned.repairedLines })
  expect(place.bytes('a').equals(original)).toBe(true)
  const store = await place.open()
  expect(await idsOf(store, 'a')).toEqual(UP_TO(40))
  const { duplicate } = await store.session('a').append({ id: 'm3', role: 'user', content: `message 3 ${'x'.repeat(100)}` })
  expect(duplicate).toBe(true)
  await say(store, 'a', 40, 42)
  expect(await idsOf(store, 'a')).toEqual(UP_TO(42))
  expect((await store.list()).sessions.find(({ id }) => id === 'a')).toMatchObject({ status: 'ok', messageCount: 42 })
})

test('a dry run changes nothing', async () => {
  const place = await backedUp()
  truncateSync(place.segments('a').at(-1) as string, 10)
  const before = place.bytes('a')
  expect(await place.restore('a', { dryRun: true })).toMatchObject({ repairedLines: 0 })
  expect(place.bytes('a').equals(before)).toBe(true)
})

test('a session that lost nothing is left as it is, also if it is longer than its backup', async () => {
  const place = await backedUp(3)
  await place.say('a', 3, 30)
  const before = place.bytes('a')
  expect(await place.restore('a')).toMatchObject({ restoredBytes: 0, repairedLines: 0, status: 'ok' })
  expect(place.bytes('a').equals(before)).toBe(true)
})

test('damaged bytes are in the quarantine after a backup has replaced them', async () => {
  const place = await backedUp(3)
  const [file] = place.segments('a') as [string]
  const bytes = readFileSync(file)
  bytes.write('ROT', bytes.indexOf('message 1'))
  writeFileSync(file, bytes)
  expect(await place.restore('a')).toMatchObject({ repairedLines: 1, status: 'ok' })
  const store = await place.open()
  const quarantined: unknown[] = []
  for await (const entry of readEntries(new Handle({ ...store.parts, space: '_store' }, 'quarantine:default'), 'doctor'))
    quarantined.push(entry.value)
  expect(quarantined).toMatchObject([{ session: 'a', kind: 'rotten', segment: 0 }])
  expect(Buffer.from((quarantined[0] as { base64: string }).base64, 'base64').toString()).toContain('ROT')
})

test('another process that has the session open sees what was restored, and goes on', async () => {
  const place = await backedUp()
  const [file] = place.segments('a') as [string]
  const bytes = readFileSync(file)
  bytes.fill(0, 400, 440)
  writeFileSync(file, bytes)
  const store = await place.open()
  await say(store, 'a', 40, 41)
  expect((await idsOf(store, 'a')).length).toBeLessThan(41)
  await place.restore('a')
  expect(await idsOf(store, 'a')).toEqual(UP_TO(41))
  await say(store, 'a', 41, 43)
  expect(await idsOf(store, 'a')).toEqual(UP_TO(43))
})

test('other sessions are written to while one is restored', async () => {
  const place = await backedUp()
  rmSync(place.directory('a'), { recursive: true })
  const store = await place.open()
  await Promise.all([place.restore('a'), say(store, 'b', 2, 30), say(store, 'c', 0, 20)])
  expect([await idsOf(store, 'a'), await idsOf(store, 'b'), await idsOf(store, 'c')].map(({ length }) => length)).toEqual([40, 30, 20])
})

test('two restores of one session at the same time leave it whole', async () => {
  const place = await backedUp()
  const original = place.bytes('a')
  rmSync(place.directory('a'), { recursive: true })
  await Promise.allSettled([place.restore('a'), place.restore('a')])
  await place.restore('a').catch(() => undefined)
  const store = await place.open()
  expect(await idsOf(store, 'a')).toEqual(UP_TO(40))
  expect(place.bytes('a').subarray(0, 500).equals(original.subarray(0, 500))).toBe(true)
})

test('a session that continued on its own after it was cut is a conflict, and nothing is changed', async () => {
  const place = await backedUp(3)
  const [file] = place.segments('a') as [string]
  truncateSync(file, readFileSync(file).indexOf('{"v":', 800))
  await place.with(async (store) => store.session('a').acceptDamage())
  await place.say('a', 7, 9)
  const before = place.bytes('a')
  await expect(place.restore('a')).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('restore the backup to another'),
  })
  expect(place.bytes('a').equals(before)).toBe(true)
})

test('a session that continues in a later epoch is a conflict', async () => {
  const place = await backedUp()
  rmSync(place.segments('a').at(-1) as string)
  writeFileSync(join(place.directory('a'), `${String(2 ** 32).padStart(16, '0')}.jsonl`), ' \n')
  const before = place.bytes('a')
  await expect(place.restore('a')).rejects.toMatchObject({ code: 'CONFLICT', details: { segment: 2 ** 32 } })
  expect(place.bytes('a').equals(before)).toBe(true)
})

test('a deleted session does not come back, and neither does a purged one', async () => {
  const place = await backedUp()
  await place.with(async (store) => store.session('a').delete())
  await expect(place.restore('a')).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('holdfast restore a') })
  await place.with(async (store) => {
    for await (const _ of store.purge({ olderThanMs: 0 }));
  })
  const left = place.bytes('a')
  await expect(place.restore('a')).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('purged') })
  expect(place.bytes('a').equals(left)).toBe(true)
})

test('segments of an earlier incarnation that were purged stay away', async () => {
  const place = await backedUp()
  await place.with(async (store) => {
    await store.session('a').delete()
    await store.create({ id: 'a' })
    await say(store, 'a', 0, 2)
    for await (const _ of store.purge({ olderThanMs: 0 }));
  })
  const now = place.segments('a')
  const done = await place.restore('a')
  expect(done).toMatchObject({ restoredBytes: 0, status: 'ok' })
  expect(place.segments('a')).toEqual(now)
})

test('an erased message stays erased, in lines that are missing, damaged or there', async () => {
  const place = await backedUp()
  await place.with(async (store) => {
    const session = store.session('a')
    await session.erase('m1')
    await session.erase('m30')
  })
  const original = place.bytes('a')
  expect(await place.restore('a')).toMatchObject({ restoredBytes: 0, repairedLines: 0, keptErased: 2 })
  expect(place.bytes('a').equals(original)).toBe(true)
  const files = place.segments('a')
  const holder = files.find((file) => readFileSync(file).includes('"m30"')) as string
  expect(holder).not.toBe(files[0])
  rmSync(files[0] as string)
  const bytes = readFileSync(holder)
  bytes.write('ROT', bytes.indexOf('"m30"'))
  writeFileSync(holder, bytes)
  expect(await place.restore('a')).toMatchObject({ keptErased: 2, status: 'ok' })
  expect(place.bytes('a').equals(original)).toBe(true)
  expect(original.includes('message 1 ')).toBe(false)
})

test('an erasure that only the backup records is applied to its older segments', async () => {
  const place = await backedUp()
  const before = readFileSync(place.segments('a')[0] as string)
  await place.with(async (store) => store.session('a').erase('m1'))
  await backUp(place.store, place.backup)
  const [inBackup] = place.segments('a', place.backup) as [string]
  expect(readFileSync(inBackup).equals(before)).toBe(true)
  rmSync(place.directory('a'), { recursive: true })
  expect(await place.restore('a')).toMatchObject({ keptErased: 1 })
  expect(place.bytes('a').includes('message 1 ')).toBe(false)
  expect(await idsOf(await place.open(), 'a')).toEqual(UP_TO(40))
})

test('a fork whose origin is damaged is restored, and its origin is named', async () => {
  const place = await backedUp()
  await place.with(async (store) => {
    const fork = await store.session('a').fork({ id: 'f', at: 'm35' })
    await fork.append({ role: 'user', content: 'x' })
  })
  await backUp(place.store, place.backup)
  rmSync(place.directory('f'), { recursive: true })
  expect((await place.restore('f')).origins).toEqual([])
  rmSync(place.directory('f'), { recursive: true })
  const [file] = place.segments('a') as [string]
  const bytes = readFileSync(file)
  bytes.fill(0, 400, 440)
  writeFileSync(file, bytes)
  expect((await place.restore('f')).origins).toEqual([{ id: 'a', status: 'damaged' }])
})

test('a session of an encrypted store comes back, and needs its key', async () => {
  const place = new Place()
  const encryption = { masterKey: newMasterKey() }
  await place.with(
    async (store) => {
      await say(store, 'a', 0, 40)
      await store.session('a').erase('m3')
    },
    { encryption },
  )
  await backUp(place.store, place.backup)
  const original = place.bytes('a')
  const files = place.segments('a')
  rmSync(files[1] as string)
  truncateSync(files.at(-1) as string, 300)
  await expect(place.restore('a')).rejects.toMatchObject({ code: 'UNREADABLE', message: expect.stringContaining('--keys') })
  expect(await place.restore('a', { encryption })).toMatchObject({ status: 'ok' })
  expect(place.bytes('a').equals(original)).toBe(true)
  expect(await idsOf(await place.open({ encryption }), 'a')).toEqual(UP_TO(40))
})

test('a backup that does not hold all that was lost leaves the session damaged', async () => {
  const place = await backedUp()
  await place.say('a', 40, 60)
  const inBackup = place.segments('a', place.backup).length
  rmSync(place.segments('a')[inBackup - 1] as string)
  expect(await place.restore('a')).toMatchObject({ status: 'damaged' })
})

test('a restore says what is not there: the backup, the store, the session', async () => {
  const place = await backedUp(2)
  await expect(place.restore('zz')).rejects.toMatchObject({ code: 'NOT_FOUND', message: expect.stringContaining('"zz"') })
  await expect(restoreSession(join(place.root, 'none'), place.store, 'a')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(restoreSession(place.backup, join(place.root, 'none'), 'a')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(readdirSync(place.root)).not.toContain('none')
  await expect(restoreSession(place.backup, 'postgres://localhost/x', 'a')).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('holdfast copy'),
  })
})

test('a backup with the file of another session in its place is refused', async () => {
  const place = await backedUp(2)
  cpSync(place.segments('b', place.backup)[0] as string, place.segments('a', place.backup)[0] as string)
  rmSync(place.directory('a'), { recursive: true })
  await expect(place.restore('a')).rejects.toMatchObject({ code: 'DAMAGED', message: expect.stringContaining('"b"') })
})

/** Spoils the line of a message. */
function rot(file: string, text: string): void {
  const bytes = readFileSync(file)
  bytes.write('ROT', bytes.indexOf(text))
  writeFileSync(file, bytes)
}

test.for([
  { name: 'in clear', options: {} },
  { name: 'encrypted', options: { encryption: { masterKey: newMasterKey() } } },
])('a message that was appended again after its line rotted does not come back twice ($name)', async ({ options }) => {
  const place = new Place()
  const messages = ['r1', 'r2', 'r3'].map((id) => ({ id, role: 'user', content: id }))
  const ends: number[] = []
  await place.with(async (store) => {
    const session = store.session('a')
    for (const message of messages) {
      await session.append(message, { key: `key of ${message.id}` })
      ends.push(place.bytes('a').length)
    }
  }, options)
  await backUp(place.store, place.backup)
  const [file] = place.segments('a') as [string]
  const bytes = readFileSync(file)
  // Inside the lines of r1 and r2, wherever their text is.
  for (const end of ends.slice(0, 2)) bytes[end - 60] = (bytes[end - 60] ?? 0) ^ 1
  writeFileSync(file, bytes)
  await place.with(async (store) => store.session('a').append(messages.slice(1, 2), { key: 'another key' }), options)
  const expected = { repairedLines: 1, repeatedLines: 1, status: 'damaged' }
  expect(await place.restore('a', { ...options, dryRun: true })).toMatchObject(expected)
  expect(await place.restore('a', options)).toMatchObject(expected)
  expect(await place.restore('a', options)).toMatchObject({ ...expected, repairedLines: 0 })
  const store = await place.open(options)
  expect(await idsOf(store, 'a')).toEqual(['r1', 'r3', 'r2'])
  expect((await store.session('a').messages()).damage).toHaveLength(1)
})

test('a lost segment with a message that was appended again is a conflict, and nothing is changed', async () => {
  const place = await backedUp()
  const lost = place.segments('a')[1] as string
  const [, id = ''] = /"ids":\["(m\d+)"\]/.exec(readFileSync(lost, 'utf8')) ?? []
  rmSync(lost)
  for (const file of readdirSync(place.directory('a'))) if (file.endsWith('.ids')) rmSync(join(place.directory('a'), file))
  const again = await place.with(async (store) => store.session('a').append({ id, role: 'user', content: 'again' }))
  expect(again.duplicate).toBe(false)
  const before = place.bytes('a')
  await expect(place.restore('a')).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(place.bytes('a').equals(before)).toBe(true)
})

test('segments of two histories in a backup are refused, and nothing is written', async () => {
  const place = await backedUp(3)
  const [former] = place.segments('a', place.backup) as [string]
  const old = readFileSync(former)
  truncateSync(place.segments('a')[0] as string, old.length - 300)
  await place.with(async (store) => store.session('a').acceptDamage())
  await place.say('a', 7, 9)
  await backUp(place.store, place.backup)
  // As earlier versions left it: the first segment from before the loss, the second from after it.
  writeFileSync(former, old)
  rmSync(place.directory('a'), { recursive: true })
  await expect(place.restore('a')).rejects.toMatchObject({
    code: 'DAMAGED',
    details: { reason: 'histories', segment: 0, next: 2 ** 32 },
    message: expect.stringContaining('two histories'),
  })
  expect(existsSync(place.directory('a'))).toBe(false)
})

test('a backup of a session that continued after accepted damage restores that session', async () => {
  const place = await backedUp(3)
  truncateSync(place.segments('a')[0] as string, place.bytes('a').length - 300)
  await place.with(async (store) => store.session('a').acceptDamage())
  await place.say('a', 7, 9)
  await backUp(place.store, place.backup)
  const now = place.bytes('a')
  rmSync(place.directory('a'), { recursive: true })
  expect(await place.restore('a')).toMatchObject({ status: 'ok' })
  expect(place.bytes('a').equals(now)).toBe(true)
})

test('a backup with a segment that was cut still repairs a line', async () => {
  const place = await backedUp()
  truncateSync(place.segments('a', place.backup)[1] as string, 1500)
  rot(place.segments('a')[0] as string, 'message 1 ')
  expect(await place.restore('a')).toMatchObject({ repairedLines: 1, status: 'ok' })
})

test('a dry run returns the status that the session would have', async () => {
  const place = await backedUp()
  rot(place.segments('a')[0] as string, 'message 1 ')
  expect(await place.restore('a', { dryRun: true })).toMatchObject({ repairedLines: 1, status: 'ok' })
  truncateSync(place.segments('a').at(-1) as string, 10)
  expect(await place.restore('a', { dryRun: true })).toMatchObject({ status: 'ok' })
  rmSync(place.directory('a'), { recursive: true })
  expect(await place.restore('a', { dryRun: true })).toMatchObject({ status: 'ok' })
  await place.restore('a')
  await place.say('a', 40, 42)
  rmSync(place.directory('a'), { recursive: true })
  expect(await place.restore('a', { dryRun: true })).toMatchObject({ status: 'damaged' })
  expect(await place.restore('a')).toMatchObject({ status: 'damaged' })
})

test('a restore that dies at any step is completed by the next one', async () => {
  const { changes, disk } = dyingDisk(Number.POSITIVE_INFINITY)
  const lose = (place: Place): void => {
    const files = place.segments('a')
    rmSync(files[1] as string)
    truncateSync(files.at(-1) as string, 90)
    const bytes = readFileSync(files[2] as string)
    bytes.fill(0x58, 300, 330)
    writeFileSync(files[2] as string, bytes)
  }
  const whole = await backedUp()
  lose(whole)
  await whole.restore('a', { disk })
  const steps = changes()
  expect(steps).toBeGreaterThan(8)
  const place = await backedUp()
  const original = place.bytes('a')
  for (let step = 1; step <= steps; step++) {
    lose(place)
    await expect(place.restore('a', { disk: dyingDisk(step).disk }), `step ${step}`).rejects.toBeDefined()
    // What is there is never something else: every file is damaged where it was, or a beginning.
    const store = await openStore(place.store)
    await idsOf(store, 'a').catch(() => undefined)
    await store.close()
    expect(await place.restore('a'), `step ${step}`).toMatchObject({ status: 'ok' })
    expect(place.bytes('a').equals(original), `step ${step}`).toBe(true)
  }
})
