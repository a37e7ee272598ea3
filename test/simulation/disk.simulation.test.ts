import { describe, expect, it } from 'vitest'
import { errorCode } from '../../src/engines/files/disk.ts'
import { everyCallFails, type FaultKind } from './faults.ts'
import { makeWorld } from './world.ts'

const A = Buffer.from('a'.repeat(100))
const B = Buffer.from('b'.repeat(100))

async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  return promise.then(
    () => 'no error',
    (error: unknown) => errorCode(error),
  )
}

describe('names', () => {
  it('are found, missing and replaced as on a real disk', async () => {
    const { machine, settle, start } = makeWorld(1)
    const { disk } = start()
    for (const mode of ['append', 'read'] as const) expect(await settle(codeOf(disk.open('/a', mode)))).toBe('ENOENT')
    expect(await settle(codeOf(disk.open('/none/a', 'create')))).toBe('ENOENT')
    expect(await settle(codeOf(disk.makeDirectory('/none/d')))).toBe('ENOENT')
    expect(await settle(codeOf(disk.remove('/a')))).toBe('ENOENT')
    expect(await settle(codeOf(disk.list('/none')))).toBe('ENOENT')
    expect(await settle(codeOf(disk.syncDirectory('/none')))).toBe('ENOENT')
    expect(await settle(codeOf(disk.rename('/a', '/b')))).toBe('ENOENT')
    for (const _ of [1, 2]) await settle(disk.makeDirectory('/d'))
    expect(await settle(codeOf(disk.open('/d', 'create')))).toBe('EISDIR')
    expect(await settle(codeOf(disk.remove('/d')))).toBe('EISDIR')
    const file = await settle(disk.open('/d/a', 'create'))
    const other = await settle(disk.open('/d/b', 'create'))
    expect(await settle(codeOf(disk.list('/d/a')))).toBe('ENOTDIR')
    expect((await settle(disk.list('/d'))).sort()).toEqual(['a', 'b'])
    file.writeSync(A)
    await settle(disk.rename('/d/a', '/d/b'))
    expect([...machine.snapshot()]).toEqual([['/d/b', A]])
    expect([file.stat().links, other.stat().links]).toEqual([1, 0])
    expect(await settle(disk.fileSystem('/d'))).toEqual({ type: 'ext4', mount: '/' })
  })

  it('come in any order', async () => {
    const { settle, start } = makeWorld(2)
    const { disk } = start()
    for (const name of ['a', 'b', 'c']) await settle(disk.open(`/${name}`, 'create'))
    const orders = new Set<string>()
    for (let round = 0; round < 100; round += 1) orders.add((await settle(disk.list('/'))).join(''))
    expect(orders.size).toBe(6)
  })

  it('are not needed by a handle that is open: a removed file has no links and can still be used', async () => {
    const { machine, settle, start } = makeWorld(3)
    const { disk } = start()
    const file = await settle(disk.open('/a', 'create'))
    expect(file.stat()).toMatchObject({ size: 0, links: 1 })
    await settle(disk.remove('/a'))
    expect(file.writeSync(A)).toBe(100)
    expect(file.stat()).toMatchObject({ size: 100, links: 0 })
    expect(file.readSync(90, 50)).toEqual(A.subarray(90))
    const anew = await settle(disk.open('/a', 'create'))
    expect(anew.stat()).toMatchObject({ size: 0, links: 1 })
    expect(machine.used).toBe(100)
    await settle(file.close())
    expect(machine.used).toBe(0)
  })

  it('are watched with hints, of which some are dropped', async () => {
    const { machine, scheduler, settle, start } = makeWorld(4, { faults: { hint: 0.5 } })
    const { disk } = start()
    const watching = start()
    let hints = 0
    const stop = watching.disk.watch('/', () => {
      hints += 1
    })
    const create = async (name: string): Promise<void> => {
      await settle(disk.open(name, 'create'))
      await scheduler.run()
    }
    for (let round = 0; round < 100; round += 1) await create(`/${round}`)
    expect(hints).toBeGreaterThan(25)
    expect(hints).toBeLessThan(75)
    machine.heal()
    hints = 0
    const file = await settle(disk.open('/0', 'append'))
    for (const _ of [1, 2, 3]) file.writeSync(A)
    await scheduler.run()
    expect(hints).toBe(1)
    file.writeSync(A)
    stop()
    await create('/x')
    watching.disk.watch('/', () => {
      hints += 1
    })
    scheduler.kill(watching.process)
    await create('/y')
    expect(hints).toBe(1)
    expect(() => disk.watch('/none', () => {})).toThrow('ENOENT')
  })
})

describe('writes', () => {
  it('always go to the end, and only through a handle that is open for them', async () => {
    const { settle, start } = makeWorld(5)
    const { disk } = start()
    const [one, other] = [await settle(disk.open('/a', 'create')), await settle(disk.open('/a', 'append'))]
    const reader = await settle(disk.open('/a', 'read'))
    one.writeSync(A)
    expect(await settle(other.write(B))).toBe(100)
    expect(await settle(reader.read(0, 1000))).toEqual(Buffer.concat([A, B]))
    expect(() => reader.writeSync(A)).toThrow('EBADF')
    expect(await settle(codeOf(reader.write(A)))).toBe('EBADF')
    const closing = one.close()
    expect(() => one.stat()).toThrow('EBADF')
    await settle(closing)
    expect(() => one.stat()).toThrow('EBADF')
    expect(await settle(codeOf(one.sync()))).toBe('EBADF')
    expect(await settle(codeOf(one.close()))).toBe('EBADF')
  })

  /** One process looks and writes without a pause while the other has a write in flight. */
  async function race(seed: number, sameProcess: boolean): Promise<{ seen: number; at: number }> {
    const { machine, settle, start } = makeWorld(seed, { splitChance: 0 })
    const first = start()
    const second = sameProcess ? first : start()
    const mine = await settle(first.disk.open('/a', 'create'))
    const theirs = await settle(second.disk.open('/a', 'append'))
    const inFlight = theirs.write(B)
    const seen = mine.stat().size
    mine.writeSync(A)
    await settle(inFlight)
    return { seen, at: machine.snapshot().get('/a')?.indexOf(A) as number }
  }

  it('of others land between a look and a synchronous write, sometimes', async () => {
    const outcomes = new Map<string, number>()
    for (let seed = 0; seed < 200; seed += 1) {
      const { seen, at } = await race(seed, false)
      const outcome = `seen ${seen}, written at ${at}`
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
    expect([...outcomes.keys()].sort()).toEqual(['seen 0, written at 0', 'seen 0, written at 100', 'seen 100, written at 100'])
    for (const times of outcomes.values()) expect(times).toBeGreaterThan(5)
  })

  it('of the same process never do', async () => {
    for (let seed = 0; seed < 100; seed += 1) {
      const { seen, at } = await race(seed, true)
      expect(at).toBe(seen)
    }
  })

  it('land in parts, with others between the parts, and still count in full', async () => {
    const shapes = new Set<string>()
    for (let seed = 0; seed < 100; seed += 1) {
      const { machine, settle, start } = makeWorld(seed)
      const [mine, theirs] = [await settle(start().disk.open('/a', 'create')), await settle(start().disk.open('/a', 'create'))]
      expect(await settle(Promise.all([mine.write(A), theirs.write(B)]))).toEqual([100, 100])
      const content = machine.snapshot().get('/a')?.toString() as string
      expect(content).toHaveLength(200)
      shapes.add(content.replace(/a+/g, 'a').replace(/b+/g, 'b'))
    }
    for (const shape of ['ab', 'ba', 'aba', 'bab']) expect(shapes).toContain(shape)
  })

  it('can be put exactly between two calls by a test', async () => {
    const { machine, settle, start } = makeWorld(6)
    const [mine, theirs] = [await settle(start().disk.open('/a', 'create')), await settle(start().disk.open('/a', 'create'))]
    machine.between = (_process, call) => {
      if (call === 'write') theirs.writeSync(B)
    }
    expect(mine.stat().size).toBe(0)
    mine.writeSync(A)
    expect(machine.snapshot().get('/a')).toEqual(Buffer.concat([B, A]))
  })
})

describe('a full disk', () => {
  it('takes a part, then nothing, until there is space again', async () => {
    const counts = new Set<number>()
    for (let seed = 0; seed < 50; seed += 1) {
      const { machine, settle, start } = makeWorld(seed, { capacity: 150 })
      const { disk } = start()
      const file = await settle(disk.open('/a', 'create'))
      const spare = await settle(disk.open('/spare', 'create'))
      spare.writeSync(A)
      const short = seed % 2 === 0 ? file.writeSync(A) : await settle(file.write(A))
      expect(short).toBeGreaterThan(0)
      expect(short).toBeLessThanOrEqual(50)
      expect(file.stat().size).toBe(short)
      counts.add(short)
      for (let left = 50 - short; left > 0; ) left -= file.writeSync(A)
      expect(() => file.writeSync(A)).toThrow('ENOSPC')
      expect(await settle(codeOf(file.write(A)))).toBe('ENOSPC')
      expect(file.stat().size).toBe(50)
      await settle(disk.remove('/spare'))
      expect(() => file.writeSync(A)).toThrow('ENOSPC')
      await settle(spare.close())
      expect(file.writeSync(A)).toBe(100)
      machine.capacity = 1000
      expect(await settle(file.write(A))).toBe(100)
    }
    expect(counts.size).toBeGreaterThan(10)
  })

  it('may have no room for a new name either', async () => {
    const codes = new Set<string | undefined>()
    for (let seed = 0; seed < 30; seed += 1) {
      const { settle, start } = makeWorld(seed, { capacity: 0 })
      const { disk } = start()
      codes.add(await settle(codeOf(disk.open('/a', 'create'))))
      codes.add(await settle(codeOf(disk.makeDirectory('/d'))))
    }
    expect(codes).toEqual(new Set(['no error', 'ENOSPC']))
  })
})

describe('faults', () => {
  it('can strike every call, are counted, and end when the machine is healed', async () => {
    const { machine, settle, start } = makeWorld(7)
    const { disk } = start()
    const file = await settle(disk.open('/a', 'create'))
    const calls: Record<string, () => Promise<unknown>> = {
      open: () => disk.open('/a', 'append'),
      makeDirectory: () => disk.makeDirectory('/d'),
      list: () => disk.list('/'),
      rename: () => disk.rename('/a', '/b'),
      remove: () => disk.remove('/b'),
      syncDirectory: () => disk.syncDirectory('/'),
      fileSystem: () => disk.fileSystem('/'),
      bootId: () => disk.bootId(),
      stat: async () => file.stat(),
      read: () => file.read(0, 1),
      write: () => file.write(A),
      sync: () => file.sync(),
    }
    machine.faults.set(everyCallFails(1))
    for (const [name, call] of Object.entries(calls)) {
      expect(['EIO', 'ENOSPC', 'EMFILE']).toContain(await settle(codeOf(call())))
      expect(machine.faults.counts[name as FaultKind]).toBe(1)
    }
    expect(() => file.readSync(0, 1)).toThrow('EIO')
    machine.heal()
    for (const call of Object.values(calls)) expect(await settle(codeOf(call()))).toBe('no error')
    machine.faults.set({ close: 1 })
    expect(await settle(codeOf(file.close()))).toBe('EIO')
    expect(() => file.stat()).toThrow('EBADF')
  })

  it('let a failing write land any part of itself', async () => {
    const sizes = new Set<number>()
    for (let seed = 0; seed < 200; seed += 1) {
      const { machine, settle, start } = makeWorld(seed)
      const file = await settle(start().disk.open('/a', 'create'))
      machine.faults.set({ write: 1 })
      if (seed % 2 === 0) expect(() => file.writeSync(A.subarray(0, 9))).toThrow()
      else await expect(settle(file.write(A.subarray(0, 9)))).rejects.toThrow()
      sizes.add(file.stat().size)
    }
    expect([...sizes].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  it('let a write take less than it was given', async () => {
    const { settle, start } = makeWorld(8, { faults: { shortWrite: 1 } })
    const file = await settle(start().disk.open('/a', 'create'))
    const taken = file.writeSync(A)
    expect(taken).toBeLessThan(100)
    expect(file.stat().size).toBe(taken)
    expect(await settle(file.write(A))).toBeLessThan(100)
  })

  it('flip a bit where a test wants it, for good', async () => {
    const { machine, settle, start } = makeWorld(9)
    const { disk } = start()
    const file = await settle(disk.open('/a', 'create'))
    file.writeSync(A)
    await settle(file.sync())
    await settle(disk.syncDirectory('/'))
    machine.rot('/a', 7, 1)
    expect(file.readSync(6, 3).toString()).toBe('aca')
    machine.powerLoss()
    expect(machine.snapshot().get('/a')?.toString()).toBe(`${'a'.repeat(7)}c${'a'.repeat(92)}`)
    expect(() => machine.rot('/a', 100)).toThrow(RangeError)
  })
})
