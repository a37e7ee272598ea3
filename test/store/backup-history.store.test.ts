/** Backups of sessions that continued after a loss: each copy is one history, also if the process dies. */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { backUp, restoreBackup } from '../../src/engines/files/backup.ts'
import { openStore } from '../../src/store/open-store.ts'
import { backedUp, dyingDisk, idsOf, type Place, say, UP_TO } from './backup-place.ts'

/** Loses a part of the session, accepts that, and continues with m50. */
async function continueAfter(place: Place, lose: (place: Place) => void): Promise<void> {
  lose(place)
  await place.with(async (store) => {
    await store.session('a').acceptDamage()
    await say(store, 'a', 50, 51)
  })
}

async function idsIn(directory: string): Promise<string[]> {
  const store = await openStore(directory)
  try {
    return await idsOf(store, 'a')
  } finally {
    await store.close()
  }
}

/** Restores a backup to a new directory, and reads the session there. */
async function restoredFrom(place: Place, from: string, name: string): Promise<string[]> {
  const to = join(place.root, name)
  await restoreBackup(from, to)
  return idsIn(to)
}

const LOSSES: Record<string, (place: Place) => void> = {
  'its last segment was cut': (place) => {
    const file = place.segments('a').at(-1) as string
    truncateSync(file, statSync(file).size - 600)
  },
  'its last segment was removed': (place) => rmSync(place.segments('a').at(-1) as string),
  'its first segment was removed': (place) => rmSync(place.segments('a')[0] as string),
  'its directory was removed': (place) => rmSync(place.directory('a'), { recursive: true }),
}

test.for(Object.entries(LOSSES))('a backup has one history of a session that continued after %s', async ([, lose]) => {
  const place = await backedUp()
  await continueAfter(place, lose)
  const done = await backUp(place.store, place.backup)
  expect(done).toMatchObject({ differing: [], replaced: [{ session: 'a', space: 'default' }] })
  const now = await idsIn(place.store)
  expect(now).toContain('m50')
  expect(await restoredFrom(place, place.backup, 'restored')).toEqual(now)
  expect(place.bytes('a', place.backup).equals(place.bytes('a'))).toBe(true)
  const movedTo = done.replaced[0]?.movedTo ?? ''
  expect(readdirSync(join(place.backup, movedTo)).sort()).toEqual(['holdfast.json', 'sessions'])
  expect(await restoredFrom(place, join(place.backup, movedTo), 'former')).toEqual(UP_TO(40))
  expect(await backUp(place.store, place.backup)).toMatchObject({ copied: 0, differing: [], replaced: [] })
})

test('a session that continues from what the backup has is not replaced', async () => {
  const place = await backedUp(3)
  const [file] = place.segments('a') as [string]
  const size = statSync(file).size
  await place.say('a', 3, 4)
  await continueAfter(place, () => truncateSync(file, size))
  expect(await backUp(place.store, place.backup)).toMatchObject({ differing: [], replaced: [] })
  expect(await restoredFrom(place, place.backup, 'restored')).toEqual(['m0', 'm1', 'm2', 'm50'])
})

test('a session that rots after its replacement is kept as the backup has it', async () => {
  const place = await backedUp()
  await continueAfter(place, (lost) => rmSync(lost.segments('a').at(-1) as string))
  await backUp(place.store, place.backup)
  const [file] = place.segments('a') as [string]
  const bytes = readFileSync(file)
  bytes.write('ROT', bytes.indexOf('message 1'))
  writeFileSync(file, bytes)
  const done = await backUp(place.store, place.backup)
  expect(done.replaced).toEqual([])
  expect(done.differing).toHaveLength(1)
  expect(await restoredFrom(place, place.backup, 'restored')).toContain('m1')
})

test('a session that loses something twice is replaced twice, and both former copies are kept', async () => {
  const place = await backedUp()
  const cut = LOSSES['its last segment was cut'] as (place: Place) => void
  await continueAfter(place, cut)
  await backUp(place.store, place.backup)
  await place.say('a', 60, 75)
  await backUp(place.store, place.backup)
  await continueAfter(place, cut)
  expect(await backUp(place.store, place.backup)).toMatchObject({ differing: [], replaced: [{ session: 'a' }] })
  expect(readdirSync(join(place.backup, 'replaced'))).toHaveLength(2)
  expect(await restoredFrom(place, place.backup, 'restored')).toEqual(await idsIn(place.store))
})

test('a backup that dies at any step has one history of the session, loses nothing and is completed by the next one', async () => {
  const place = await backedUp(12)
  const [before, former] = [join(place.root, 'before'), place.bytes('a', place.backup)]
  await continueAfter(place, (lost) => rmSync(lost.segments('a').at(-1) as string))
  const now = place.bytes('a')
  cpSync(place.backup, before, { recursive: true })
  const counting = dyingDisk(Number.POSITIVE_INFINITY)
  await backUp(place.store, place.backup, { disk: counting.disk })
  expect(counting.changes()).toBeGreaterThan(10)
  for (let step = 1; step <= counting.changes(); step++) {
    rmSync(place.backup, { recursive: true })
    cpSync(before, place.backup, { recursive: true })
    await expect(backUp(place.store, place.backup, { disk: dyingDisk(step).disk }), `step ${step}`).rejects.toBeDefined()
    const inPlace = copyIn(place, place.backup)
    if (inPlace !== undefined) expect(inPlace.equals(former) || inPlace.equals(now), `step ${step}`).toBe(true)
    const replaced = join(place.backup, 'replaced')
    const aside = existsSync(replaced) ? readdirSync(replaced).map((time) => copyIn(place, join(replaced, time))) : []
    expect(
      [inPlace, ...aside].some((bytes) => bytes?.equals(former)),
      `step ${step}`,
    ).toBe(true)
    expect(await backUp(place.store, place.backup), `step ${step}`).toMatchObject({ differing: [] })
    expect(place.bytes('a', place.backup).equals(now), `step ${step}`).toBe(true)
  }
})

function copyIn(place: Place, root: string): Buffer | undefined {
  return existsSync(place.directory('a', root)) ? place.bytes('a', root) : undefined
}
