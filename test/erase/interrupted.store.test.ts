import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { repairSession } from '../../src/doctor/repair.ts'
import type { Disk, DiskFile } from '../../src/engines/files/disk.ts'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { unsynced } from '../damage/on-disk.ts'
import { useDirectory } from '../store/directory.ts'
import { tracesOf } from './traces.ts'

const directory = useDirectory()
const SECRET = 'Quagmire-4711 lives in Xanadu'
const FORKED = 'Wolpertinger-4713'

/** A disk for a process that is killed inside of one of its calls that change something: half of that one is done, and nothing after it. */
function dying(after: number): { disk: Disk; died: () => boolean } {
  let left = after
  const dead = (): Error => Object.assign(new Error('killed'), { code: 'EIO' })
  /** True if this call is the last one. */
  const isLast = (): boolean => {
    if (left < 0) throw dead()
    return left-- === 0
  }
  const live = (): void => {
    if (left < 0) throw dead()
  }
  const open = async (path: string, mode: 'append' | 'create' | 'read'): Promise<DiskFile> => {
    live()
    const file = await unsynced.open(path, mode)
    const write = (bytes: Uint8Array): number => {
      if (!isLast()) return file.writeSync(bytes)
      file.writeSync(bytes.subarray(0, bytes.length >> 1))
      throw dead()
    }
    return {
      stat: () => file.stat(),
      readSync: (offset, length) => file.readSync(offset, length),
      endsSync: (offset, end) => file.endsSync(offset, end),
      read: (offset, length) => file.read(offset, length),
      writeSync: write,
      write: async (bytes) => write(bytes),
      sync: async () => live(),
      close: () => file.close(),
    }
  }
  const overwrite: Disk['overwrite'] = async (path, offset, was, bytes) => {
    if (!isLast()) return unsynced.overwrite(path, offset, was, bytes, false)
    const half = bytes.length >> 1
    await unsynced.overwrite(path, offset, was, Buffer.concat([bytes.subarray(0, half), was.subarray(half)]))
    throw dead()
  }
  const makeDirectory: Disk['makeDirectory'] = async (path) => {
    live()
    return unsynced.makeDirectory(path)
  }
  return { disk: { ...unsynced, open, overwrite, makeDirectory }, died: () => left < 0 }
}

async function storeOn(path: string, disk: Disk): Promise<Store> {
  const limits = { segmentBytes: 1500 }
  return openStore(await openFilesEngine({ directory: path, keysOf: sessionReducer.keysOf, disk }), { limits })
}

async function prepared(): Promise<string> {
  const path = join(directory().path, 'original')
  const store = await storeOn(path, unsynced)
  const session = store.session('s')
  await session.append([
    { id: 'a', role: 'user', content: 'first' },
    { id: 'm', role: 'user', content: SECRET },
    { id: 'z', role: 'user', content: 'last' },
  ])
  const fork = await session.fork({ id: 'f' })
  await fork.replace('m', { role: 'user', content: FORKED })
  for (let i = 0; i < 4; i++) await session.append({ role: 'user', content: `after ${i} ${'y'.repeat(300)}` })
  await session.replace('m', { role: 'user', content: `${SECRET}, they say` })
  await store.close()
  return path
}

async function findings(store: Store): Promise<string[]> {
  const found: string[] = []
  for await (const { kind, session } of doctor(store)) if (kind !== 'torn') found.push(`${kind} ${session}`)
  return found
}

/** Runs an erasure that is killed in its nth change of the disk. False if it came to its end before. */
async function killedAt(original: string, n: number): Promise<{ path: string; died: boolean }> {
  const path = join(directory().path, `killed-${n}`)
  cpSync(original, path, { recursive: true })
  const { disk, died } = dying(n)
  try {
    const store = await storeOn(path, disk)
    await store.session('s').erase('m')
    await store.close()
  } catch {
    // It was killed.
  }
  return { path, died: died() }
}

test('killed at any step, it has not happened, or whoever opens the session next brings it to its end', async () => {
  const original = await prepared()
  let [unfinished, steps] = [0, 0]
  for (let n = 0; ; n++) {
    const { path, died } = await killedAt(original, n)
    const left = tracesOf(path, SECRET, FORKED).length > 0
    const store = await storeOn(path, unsynced)
    const session = store.session('s')
    const isErased = (await session.message('m'))?.erased === true
    if (isErased) {
      expect(tracesOf(path, SECRET, FORKED), `step ${n}`).toEqual([])
      expect((await store.session('f').message('m'))?.erased, `step ${n}`).toBe(true)
      if (left) unfinished++
    } else expect((await session.message('m'))?.message.content, `step ${n}`).toContain(SECRET)
    expect((await session.messages()).messages.map(({ id }) => id).slice(0, 3)).toEqual(['a', 'm', 'z'])
    expect((await session.message('a'))?.message.content).toBe('first')
    // What was not done can be done, and what was is done.
    await session.erase('m')
    expect(tracesOf(path, SECRET, FORKED), `step ${n}`).toEqual([])
    expect(await findings(store), `step ${n}`).toEqual([])
    await store.close()
    steps = n
    if (!died) break
  }
  expect(steps).toBeGreaterThan(10)
  expect(unfinished).toBeGreaterThan(3)
})

test('the doctor tells of one that was interrupted, shows it to nobody, and brings it to its end', async () => {
  const original = await prepared()
  for (let n = 0; ; n++) {
    const { path, died } = await killedAt(original, n)
    expect(died).toBe(true)
    const store = await storeOn(path, unsynced)
    const found: Parameters<typeof repairSession>[2][number][] = []
    for await (const finding of doctor(store, { session: 's' })) if (finding.kind === 'unfinished-erasure') found.push(finding)
    const isLeft = tracesOf(path, SECRET).length > 0
    if (found.length > 0 && isLeft) {
      expect(await repairSession(store, 's', found)).toEqual([])
      expect(tracesOf(path, SECRET, FORKED)).toEqual([])
      expect(await findings(store)).toEqual([])
      await store.close()
      return
    }
    await store.close()
  }
})
