/** Each kind of finding, produced by planting exactly what it speaks of. What else is found then follows from it, and is listed too. */
import { crc32 } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { writeIdFile } from '../../src/engines/files/id-file.ts'
import { idFile, segmentFile } from '../../src/engines/files/names.ts'
import { encodeBody, encodeCheckpoint, Group } from '../../src/record/line.ts'
import type { JsonObject } from '../../src/record/record.ts'
import type { Finding } from '../../src/verify/findings.ts'
import { type Files, MemoryDisk } from './disk.ts'
import { directoryOf, findingsIn, makeStore, openOn, segmentsOf, talk } from './sample.ts'
import { append, change, endOf, fill, fillLine, lines, moveFiles, NEWLINE, ROT, removeFiles, rotLine, segmentPath, ZERO } from './spoil.ts'

let healthy: Files
beforeAll(async () => {
  healthy = await makeStore()
})

interface Plant {
  readonly name: string
  readonly plant: (disk: MemoryDisk) => unknown
  /** Kind, session, and which of its segments. */
  readonly found: readonly string[]
}

const DAMAGE: readonly Plant[] = [
  {
    name: 'other text at the end, which no later record explains',
    plant: (disk) => append(disk, 'restored', Buffer.from('te","content":"lost"}],"prev":"00000000","pos":1,"crc":"00000000"}\n')),
    found: ['rotten restored 2'],
  },
  {
    name: 'a rotten line',
    plant: (disk) => rotLine(disk, 'restored', 2, 'entry.put', 0),
    found: ['rotten restored 2'],
  },
  {
    name: 'both copies of a record, rotten',
    plant: (disk) => {
      // A line that has rotted is none of its type any more.
      for (const first of [0, 0]) rotLine(disk, 'restored', 2, 'session.described', first)
    },
    found: ['rotten restored 2', 'rotten restored 2'],
  },
  {
    name: 'a rotten record right before one that is written twice',
    plant: (disk) => rotLine(disk, 'restored', 1, 'messages.appended', -1),
    found: ['rotten restored 1'],
  },
  {
    name: 'a rotten record after one whose second copy was never written',
    plant: (disk) => loseSecondCopy(disk, 'short'),
    found: ['rotten short 0'],
  },
  {
    name: 'a rotten newline, which makes a line look torn',
    plant: (disk) => {
      const [line] = lines(disk, 'restored', 2, 'entry.put')
      fill(disk, 'restored', 2, { from: line?.to as number, to: (line?.to as number) + 1 }, ROT)
    },
    found: ['rotten restored 2'],
  },
  {
    name: 'a rotten checkpoint',
    plant: (disk) => rotLine(disk, 'restored', -1, 'checkpoint', 0),
    found: ['rotten restored 2'],
  },
  {
    name: 'zeros over a record that later ones know of',
    plant: (disk) => fillLine(disk, 'restored', 2, 'entry.put', 0, ZERO),
    found: ['lost-page restored 2'],
  },
  {
    name: 'a record that is gone without a trace, and the messages that stand on it',
    plant: (disk) => fillLine(disk, 'talk', 0, 'messages.appended', 0, NEWLINE),
    found: ['missing-record talk 0', 'dangling-parent talk 0', 'stale-index talk 0', 'lost-past fork', 'lost-past fork of fork'],
  },
  {
    name: 'the last record of a sealed segment gone without a trace',
    plant: (disk) => {
      fillLine(disk, 'talk', 0, 'segment.sealed', 0, NEWLINE)
      fillLine(disk, 'talk', 0, 'messages.appended', -1, NEWLINE)
    },
    found: ['missing-record talk 1', 'dangling-parent talk 1', 'stale-index talk 0', 'lost-past fork', 'lost-past fork of fork'],
  },
  {
    name: 'a segment gone from the middle',
    plant: (disk) => disk.files.delete(segmentPath(disk, 'restored', 1)),
    found: ['missing-segment restored 0'],
  },
  {
    name: 'the first segment gone',
    plant: (disk) => disk.files.delete(segmentPath(disk, 'restored', 0)),
    found: ['vanished restored -1'],
  },
  {
    name: 'a sealed segment cut short',
    plant: (disk) => change(disk, segmentPath(disk, 'restored', 1), (bytes) => bytes.subarray(0, bytes.length - 900)),
    found: ['cut-short restored 1', 'stale-index restored 1'],
  },
  {
    name: 'a checkpoint that tells something else than the records before it',
    plant: (disk) => forgeCheckpoint(disk, 'rolled'),
    found: ['wrong-checkpoint rolled 1'],
  },
  {
    name: 'the journal of another session',
    plant: (disk) => moveFiles(disk, directoryOf('restored'), directoryOf('elsewhere')),
    found: ['wrong-identity elsewhere 0'],
  },
  {
    name: 'a journal that cannot tell whose it is',
    plant: (disk) => {
      // A line that has rotted is none of its type any more.
      for (const first of [0, 0]) rotLine(disk, 'child', 0, 'session.created', first)
    },
    found: ['rotten child 0', 'rotten child 0', 'no-identity child', 'dangling-grant talk'],
  },
  {
    name: 'a segment that cannot be read',
    plant: (disk) => disk.unreadable.add(segmentPath(disk, 'restored', 0)),
    found: ['unreadable restored 0'],
  },
  {
    name: 'a session without a beginning and without a checkpoint',
    plant: (disk) => {
      disk.files.delete(segmentPath(disk, 'carried', 0))
      rotLine(disk, 'carried', 0, 'checkpoint', 0)
    },
    found: ['vanished carried -1', 'rotten carried 0'],
  },
  {
    name: 'a fork whose parent is gone',
    plant: (disk) => removeFiles(disk, directoryOf('talk')),
    found: ['lost-past fork', 'lost-past fork of fork'],
  },
  {
    name: 'a fork that its parent did not grant',
    plant: (disk) => {
      for (const first of [0, 0]) rotLine(disk, 'fork', -1, 'fork.granted', first)
    },
    found: ['rotten fork 2', 'rotten fork 2', 'ungranted-fork fork of fork'],
  },
]

const NOTES: readonly Plant[] = [
  {
    name: 'the first copy of a record, rotten',
    plant: (disk) => rotLine(disk, 'restored', 2, 'session.described', 0),
    found: ['lost-copy restored 2'],
  },
  {
    name: 'the second copy of a record, rotten',
    plant: (disk) => rotLine(disk, 'restored', 2, 'session.described', 1),
    found: ['lost-copy restored 2'],
  },
  {
    name: 'the second copy of the last record, rotten',
    plant: (disk) => rotLine(disk, 'restored', 2, 'session.restored', 1),
    found: ['lost-copy restored 2'],
  },
  {
    name: 'zeros over one copy of a record',
    plant: (disk) => fillLine(disk, 'restored', 2, 'usage.recorded', 0, ZERO),
    found: ['lost-copy restored 2'],
  },
  {
    name: 'one copy of each of two records in a row, rotten',
    plant: (disk) => {
      rotLine(disk, 'restored', 2, 'session.restored', 0)
      rotLine(disk, 'restored', 2, 'session.deleted', 1)
    },
    found: ['lost-copy restored 2', 'lost-copy restored 2'],
  },
  {
    name: 'a purge over which the power went, after which some of what it had removed is there again',
    plant: async (disk) => {
      await halfPurge(disk, 'half')
      disk.files.delete(segmentPath(disk, 'half', 1))
    },
    found: ['unfinished-purge half'],
  },
  {
    name: 'a purge over which the power went, which took the seal that it had marked the session with',
    plant: async (disk) => {
      await halfPurge(disk, 'half')
      const [seal] = lines(disk, 'half', -2, 'segment.sealed')
      change(disk, segmentPath(disk, 'half', -2), (bytes) => Buffer.from(bytes).fill(0, seal?.from))
    },
    found: ['torn half 2', 'unfinished-purge half'],
  },
  {
    name: 'the same of a session that was created anew since',
    plant: async (disk) => {
      await halfPurge(disk, 'half')
      disk.files.delete(segmentPath(disk, 'half', 1))
      const store = await openOn(disk, 1_000_000)
      await (await store.create({ id: 'half' })).append({ role: 'user', content: 'hi' })
      await store.close()
    },
    found: [],
  },
  {
    name: 'half a line at the end',
    plant: (disk) => append(disk, 'restored', Buffer.from(' \n{"v":1,"id":"r9')),
    found: ['torn restored 2'],
  },
  {
    name: 'half a line that the next writer ended',
    plant: async (disk) => {
      append(disk, 'restored', Buffer.from(' \n{"v":1,"id":"r9'))
      const store = await openOn(disk, 1_000_000)
      await store.session('restored').append({ role: 'user', content: 'next' })
      await store.close()
    },
    found: ['torn restored 2'],
  },
  {
    name: 'the rest of a line that was written in two pieces, with those of somebody else in between',
    plant: async (disk) => {
      append(disk, 'restored', Buffer.from('te","content":"lost"}],"prev":"00000000","pos":1,"crc":"00000000"}\n'))
      await writeAfter(disk, 'restored')
    },
    found: ['torn restored 2'],
  },
  {
    name: 'the rest of a checkpoint that two processes wrote at once, with no record after it',
    plant: (disk) => append(disk, 'restored', Buffer.from('":5,"t":601}],"usage":[]},"prev":"00000000","crc":"00000000"}\n')),
    found: ['torn restored 2'],
  },
  {
    name: 'pieces of two lines, written at once by two writers who both lost their race',
    plant: async (disk) => {
      append(disk, 'restored', Buffer.from(' \n{"v":1,"id":"r900","at":"2026-11","prev":"00000000","pos":1,"crc":"00000000"}\n'))
      await writeAfter(disk, 'restored')
    },
    found: ['torn restored 2'],
  },
  {
    name: 'zeros that nobody had read as something else',
    plant: (disk) => append(disk, 'restored', Buffer.from(`${'\0'.repeat(100)}\n`)),
    found: ['unwritten restored 2'],
  },
  {
    name: 'zeros of a writer that lost power, after which another one went on',
    plant: async (disk) => {
      append(disk, 'restored', Buffer.from(` \n{"v":1,"id":"r9${'\0'.repeat(100)}`))
      await writeAfter(disk, 'restored')
    },
    found: ['unwritten restored 2'],
  },
  {
    name: 'zeros over lines that the next segment carries',
    plant: (disk) => fillLine(disk, 'carried', 0, 'messages.appended', -1, ZERO),
    found: ['carried carried 0'],
  },
  {
    name: 'a segment cut short whose end the next one carries',
    plant: (disk) => {
      const { from } = lines(disk, 'carried', 0, 'messages.appended').at(-1) ?? { from: 0 }
      change(disk, segmentPath(disk, 'carried', 0), (bytes) => bytes.subarray(0, from + 20))
    },
    found: ['carried carried 0', 'stale-index carried 0'],
  },
  {
    name: 'a sealed segment that lost its seal and nothing else',
    plant: (disk) => {
      const [seal] = lines(disk, 'restored', 1, 'segment.sealed')
      change(disk, segmentPath(disk, 'restored', 1), (bytes) => bytes.subarray(0, seal?.from))
    },
    found: ['unwritten restored 1'],
  },
  {
    name: 'a purged segment that was made again by somebody who was late',
    plant: (disk) => disk.files.set(`${directoryOf('purged')}/${segmentFile(17)}`, Buffer.from(' \n')),
    found: ['late-segment purged 0'],
  },
  {
    name: 'a record of a newer version',
    plant: (disk) => append(disk, 'restored', newerLine(endOf(disk, 'restored'))),
    found: ['newer-version restored'],
  },
  {
    name: 'a grant whose session does not exist',
    plant: (disk) => removeFiles(disk, directoryOf('child')),
    found: ['dangling-grant talk'],
  },
  {
    name: 'a rotten id file',
    plant: (disk) => change(disk, `${directoryOf('restored')}/${idFile(0)}`, (bytes) => bytes.fill(ROT, 100, 101)),
    found: ['stale-index restored 0'],
  },
  {
    name: 'an id file that is whole, but lacks a key',
    plant: async (disk) => {
      const path = `${directoryOf('restored')}/${idFile(0)}`
      disk.files.delete(path)
      await writeIdFile(await disk.open(path, 'create'), { first: 0, end: segmentsOf(disk.files, 'restored')[1] as number, count: 0 }, [])
    },
    found: ['stale-index restored 0'],
  },
  {
    name: 'files that Holdfast did not make, wherever they lie',
    plant: (disk) => {
      for (const path of ['notes.txt', 'sessions/.DS_Store', `sessions/${'0'.repeat(32)}/old`])
        disk.files.set(`/store/${path}`, Buffer.of())
      disk.files.set(`${directoryOf('restored')}/copy of a segment.jsonl`, Buffer.of())
    },
    found: ['foreign-file restored', 'foreign-file ', 'foreign-file ', 'foreign-file '],
  },
]

/** A new checkpoint of the same length, with another title. */
async function forgeCheckpoint(disk: MemoryDisk, session: string): Promise<void> {
  const store = await openOn(disk, 1_000_000)
  await (await store.create({ id: session, title: 'right' })).append({ role: 'user', content: 'hi' })
  const { engine, replicas } = store.parts
  await replicas.of(engine.name('default', session)).replica.beginSegment()
  await store.close()
  for (const { from, to, record } of lines(disk, session, 1, 'checkpoint')) {
    const { base, id, at, prev, carries, state } = record as unknown as Parameters<typeof encodeCheckpoint>[0]
    const forged = encodeCheckpoint({ base, id, at, prev, carries, state: { ...state, title: 'wrong' } as JsonObject })
    expect(forged.length).toBe(to - from + 1)
    change(disk, segmentPath(disk, session, 1), (bytes) => Buffer.concat([bytes.subarray(0, from), forged, bytes.subarray(to + 1)]))
  }
}

/** A session of several segments, as a purge leaves it that has marked it and removed nothing yet. */
async function halfPurge(disk: MemoryDisk, id: string): Promise<void> {
  const store = await openOn(disk, 900)
  await (await talk(store, id)).delete()
  const { engine, replicas } = store.parts
  await replicas.of(engine.name('default', id)).replica.beginSegment()
  await store.close()
}

/** The disk filled up between the two copies of the title, so an entry takes the place of the second copy; then the entry rots. */
async function loseSecondCopy(disk: MemoryDisk, id: string): Promise<void> {
  const store = await openOn(disk, 1_000_000)
  const session = await store.create({ id })
  await session.describe({ title: 'A title that makes its line much longer than the next one '.repeat(4) })
  await store.close()
  const [, second] = lines(disk, id, 0, 'session.described')
  change(disk, segmentPath(disk, id, 0), (bytes) => bytes.subarray(0, second?.from))
  await writeAfter(disk, id)
  rotLine(disk, id, 0, 'entry.put', 0)
}

/** A later record, which shows that nothing is missing before it. */
async function writeAfter(disk: MemoryDisk, id: string): Promise<void> {
  const store = await openOn(disk, 1_000_000)
  await store.session(id).putEntries([{ channel: 'c', key: 'k', value: 1 }])
  await store.close()
}

function newerLine(end: number): Buffer {
  const group = new Group(end, '00000000')
  group.add(encodeBody({ id: 'new', at: '2026-11-15T00:00:00.000Z', type: 'entry.put', payload: {} }))
  const body = group.bytes.toString().replace('"v":2', '"v":3').split(',"crc"')[0] as string
  return Buffer.from(`${body},"crc":"${crc32(body.slice(2)).toString(16).padStart(8, '0')}"}\n`)
}

async function plantAndLook({ plant }: Plant): Promise<{ findings: Finding[]; seen: string[] }> {
  const disk = new MemoryDisk(healthy)
  await plant(disk)
  const findings = await findingsIn(disk)
  const nth = ({ session, segment }: Finding) => (segment === null ? '' : segmentsOf(disk.files, session).indexOf(segment))
  return { findings, seen: findings.map((finding) => `${finding.kind} ${finding.session} ${nth(finding)}`.trim()) }
}

describe.each([
  ['damage', DAMAGE],
  ['note', NOTES],
] as const)('the doctor finds %s', (severity, plants) => {
  test.each(plants)('$name', async (plant) => {
    const { findings, seen } = await plantAndLook(plant)
    expect(seen.toSorted()).toEqual(plant.found.map((one) => one.trim()).toSorted())
    expect(findings.some((finding) => finding.severity === 'damage')).toBe(severity === 'damage')
    for (const { action } of findings) expect(action).toMatch(/\.$/)
  })
})

/** Of sessions that can be read: those that a purge has marked cannot. */
const PIECES = NOTES.filter(({ found }) => /^(torn|unwritten)/m.test(found.join('\n')) && !found.includes('unfinished-purge half'))

test.each(PIECES)('reads report no damage, like the doctor, of $name', async ({ plant, found }) => {
  const disk = new MemoryDisk(healthy)
  await plant(disk)
  const store = await openOn(disk, 1_000_000)
  const [, id = ''] = found[0]?.split(' ') ?? []
  const session = store.session(id)
  expect((await session.messages()).damage).toEqual([])
  expect((await session.info()).status).toBe('ok')
  await store.close()
})
