/**
 * Makes a golden store: a small one that holds every type of record that the library writes, in several segments, as a released version
 * wrote it, in clear or sealed with a master key. What is made goes to the repository and stays there: every later version has to read it.
 */
import { Worker } from '../../src/commit/worker.ts'
import { doctor } from '../../src/doctor/doctor.ts'
import { repairSession } from '../../src/doctor/repair.ts'
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import type { Ids } from '../../src/engine/ids.ts'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Session } from '../../src/store/session.ts'
import type { Store } from '../../src/store/store.ts'
import { type Files, MemoryDisk } from '../doctor/disk.ts'

const ROOT = '/golden'
/** Small, so that there are checkpoints, and lines that were carried. */
const LIMITS = { reserveBytes: 0, segmentBytes: 1500 }

/** What lies in the store, by path; only what is no derived file. */
export async function makeGolden(masterKey?: string): Promise<Files> {
  const disk = new MemoryDisk()
  const store = await openOn(disk, masterKey)
  const talk = await converse(store)
  await family(store, talk)
  await archive(store)
  await remove(store)
  await failSync(store, disk)
  await store.in('other').session('elsewhere').append({ role: 'user', content: 'Another space.' })
  await spoil(store, disk)
  await store.close()
  const kept = [...disk.files].filter(([path]) => path.endsWith('.jsonl') || path.endsWith('holdfast.json'))
  return new Map(kept.filter(([path]) => !path.includes('/feed/')).map(([path, bytes]) => [path.slice(ROOT.length + 1), bytes]))
}

/** A store with these files, by path. */
export function openGolden(files: Files, masterKey?: string): Promise<Store> {
  return openOn(new MemoryDisk(new Map([...files].map(([path, bytes]) => [`${ROOT}/${path}`, bytes]))), masterKey)
}

async function openOn(disk: MemoryDisk, masterKey: string | undefined): Promise<Store> {
  let [time, next] = [Date.UTC(2026, 10, 15), 0]
  const clock: Clock = { now: () => time++, monotonicMs: () => 0, sleep: systemClock.sleep }
  const ids: Ids = {
    next: () => `r${String(next++).padStart(3, '0')}`,
    random: () => 0,
    hex: (digits) => String(next++).padStart(digits, '0'),
  }
  const engine = await openFilesEngine({ directory: ROOT, disk, keysOf: sessionReducer.keysOf, clock, ids, limits: LIMITS })
  return openStore(engine, { clock, ids, limits: LIMITS, ...(masterKey === undefined ? {} : { encryption: { masterKey } }) })
}

/** Messages of several shapes, a revert with another way, and all that can be said of a session. */
async function converse(store: Store): Promise<Session> {
  const session = await store.create({ id: 'talk', title: 'A talk', owner: 'ann', workspace: '/home/ann', metadata: { team: 'blue' } })
  await session.append({ id: 'm1', role: 'user', content: 'My parcel is lost.' }, { key: 'first' })
  const parts = [{ type: 'text', text: 'Let me look. ✓ \u2028 é' }]
  await session.append([
    {
      id: 'm2',
      role: 'assistant',
      content: parts,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'find', arguments: '{}' } }],
    },
    { id: 'm3', role: 'tool', tool_call_id: 'c1', content: 'Carrier: unknown' },
  ])
  await session.snapshot('looked')
  await session.append({ id: 'm4', role: 'assistant', content: 'It is in the sea.' })
  await session.revert({ snapshot: 'looked' })
  await session.append({ id: 'm5', role: 'assistant', content: 'It is at your neighbour’s.' })
  await session.replace('m1', { role: 'user', content: 'My parcel is late.' })
  await session.append({ id: 'm6', role: 'user', content: 'My number is 555-0123.' })
  await session.erase('m6')
  await session.describe({ title: 'Late parcel', addTags: ['refund'], metadata: { done: true } })
  await session.putEntries([{ channel: 'golden', key: 'k', value: { n: 1 } }])
  await session.recordUsage({ model: 'm', inputTokens: 10, outputTokens: 20 })
  const { share } = await session.share()
  await session.share()
  await session.unshare(share)
  return session
}

/** A fork, a child, and a fork that was refused, whose grant is taken back. */
async function family(store: Store, parent: Session): Promise<void> {
  const fork = await parent.fork({ id: 'fork', at: 'm3' })
  await fork.append({ id: 'f1', role: 'user', content: 'Another way.' })
  await (await parent.child({ id: 'child' })).append({ id: 's1', role: 'user', content: 'Look it up.' })
  await store.create({ id: 'taken' })
  await parent.fork({ id: 'taken' }).catch(() => undefined)
}

/** Archives that are completed, failed, cancelled and pending, and memories that were taken back. */
async function archive(store: Store): Promise<void> {
  const session = await store.create({ id: 'archives', owner: 'ann' })
  const commit = async (text: string) => {
    await session.append({ id: text, role: 'user', content: text })
    const committed = await session.commit()
    if (committed.status !== 'accepted') throw new Error('There was nothing to commit')
    return committed.task
  }
  const summarise = async ({ messages: [first] }: { messages: readonly { id: string }[] }) => ({
    abstract: `About ${first?.id}`,
    overview: `# Overview\nOf ${first?.id}`,
    memories: [{ key: 'tea', category: 'preferences', text: 'Drinks tea.', sources: [first?.id ?? ''] }],
  })
  for (const text of ['tea', 'milk']) {
    await commit(text)
    await new Worker(store, { model: { name: 'golden', inputTokens: 1000, summarise } }).drain()
  }
  await session.retractMemories(2)
  await commit('broken')
  const broken = { name: 'broken', inputTokens: 1000, summarise: () => Promise.reject(new Error('The model is broken.')) }
  await new Worker(store, { model: broken, attempts: 1 }).drain()
  await (await commit('cancelled')).cancel()
  await commit('pending')
  await session.append({ id: 'live', role: 'user', content: 'live' })
}

/** Sessions that are deleted, restored, purged, and created anew. */
async function remove(store: Store): Promise<void> {
  for (const id of ['purged', 'restored', 'anew', 'deleted']) {
    const session = store.session(id)
    await session.append({ id: 'before', role: 'user', content: `Said in ${id}.` })
    await session.delete()
    if (id === 'purged') for await (const _ of store.purge({ olderThanMs: 0 }));
    if (id === 'restored') await session.restore()
    if (id === 'anew') await (await store.create({ id, title: 'Anew' })).append({ id: 'after', role: 'user', content: 'Begun anew.' })
  }
}

/** A sync that failed: its line stands in two segments. */
async function failSync(store: Store, disk: MemoryDisk): Promise<void> {
  const session = store.session('carried')
  await session.append({ id: 'c1', role: 'user', content: 'Synced.' })
  disk.failSyncs = 1
  await session.append({ id: 'c2', role: 'user', content: 'Not synced.' }).catch(() => undefined)
  await session.append({ id: 'c3', role: 'user', content: 'Later.' })
}

/** Messages that rotted, and were accepted: one between two others, and the last one, after which another process continued. */
async function spoil(store: Store, disk: MemoryDisk): Promise<void> {
  for (const [id, rotten] of [
    ['spoiled', 1],
    ['noticed', 2],
  ] as const) {
    const session = store.session(id)
    for (const name of ['s1', 's2', 's3']) await session.append({ id: name, role: 'user', content: `Said as ${name}.` })
    rot(disk, id, rotten)
    store.parts.replicas.forget(store.parts.engine.name('default', id))
    if (id === 'noticed') await store.session(id).append({ id: 's4', role: 'user', content: 'Said as s4.' })
    const findings = []
    for await (const finding of doctor(store, { session: id })) findings.push(finding)
    await repairSession(store, id, findings)
  }
}

/** Changes one byte of a record with messages: of the first one, of the second, and so on. */
function rot(disk: MemoryDisk, session: string, index: number): void {
  const [path, bytes] = [...disk.files].find(([name]) => name.includes(`/${session}-`) && name.endsWith('.jsonl')) ?? []
  if (path === undefined || bytes === undefined) throw new Error('There is no such session')
  const rotten = Buffer.from(bytes)
  let at = -1
  for (let i = 0; i <= index; i++) at = bytes.indexOf('"messages.appended"', at + 1)
  rotten[at + 1] = 0x58
  disk.files.set(path, rotten)
}
