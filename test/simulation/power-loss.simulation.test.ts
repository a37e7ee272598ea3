import { describe, expect, it } from 'vitest'
import { errorCode } from '../../src/engines/files/disk.ts'
import type { MachineOptions } from './disk.ts'
import { makeWorld, type World } from './world.ts'

const SEEDS = 200
const OLD = Buffer.from('synced '.repeat(30))
const NEW = Buffer.from('hoped for '.repeat(40))

type Steps = (world: World) => Promise<void>

/** Does the same on many seeds, with a power loss at its end, and returns what each left. */
async function afterPowerLoss(steps: Steps, options: MachineOptions = {}): Promise<Map<string, Buffer>[]> {
  const left: Map<string, Buffer>[] = []
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const world = makeWorld(seed, { writeBackChance: 0, splitChance: 0, ...options })
    await world.settle(steps(world))
    world.machine.powerLoss()
    left.push(world.machine.snapshot())
  }
  return left
}

async function writeSynced({ start }: World, path: string): Promise<void> {
  const { disk } = start()
  const file = await disk.open(path, 'create')
  await file.write(OLD)
  await file.sync()
  await disk.syncDirectory('/')
}

function count(left: Map<string, Buffer>[], holds: (files: Map<string, Buffer>) => boolean): number {
  return left.filter(holds).length
}

describe('at a power loss', () => {
  it('what was synced survives, name and content', async () => {
    const left = await afterPowerLoss((world) => writeSynced(world, '/a'))
    expect(count(left, (files) => files.get('/a')?.equals(OLD) === true)).toBe(SEEDS)
  })

  it('what was not synced is kept, lost, cut, torn or zeroed, and never reaches what was', async () => {
    const left = await afterPowerLoss(async (world) => {
      await writeSynced(world, '/a')
      const file = await world.start().disk.open('/a', 'append')
      await file.write(NEW)
    })
    const all = Buffer.concat([OLD, NEW])
    const content = (files: Map<string, Buffer>): Buffer => files.get('/a') as Buffer
    for (const files of left) {
      expect(content(files).subarray(0, OLD.length)).toEqual(OLD)
      expect(content(files).length).toBeLessThanOrEqual(all.length)
      expect(content(files).every((byte, at) => byte === all[at] || byte === 0)).toBe(true)
    }
    expect(count(left, (files) => content(files).equals(all))).toBeGreaterThan(10)
    expect(count(left, (files) => content(files).equals(OLD))).toBeGreaterThan(10)
    const zeroedInTheMiddle = (bytes: Buffer): boolean => bytes.includes(0) && bytes.at(-1) !== 0
    expect(count(left, (files) => zeroedInTheMiddle(content(files)))).toBeGreaterThan(3)
    const cutShort = (bytes: Buffer): boolean => bytes.length > OLD.length && bytes.length < all.length && !bytes.includes(0)
    expect(count(left, (files) => cutShort(content(files)))).toBeGreaterThan(3)
    // The page in which the synced content ends has its zeros inside even if it was not torn, so this looks behind it.
    const tornInsideAPage = (bytes: Buffer): boolean => bytes.indexOf(0, 256) > 0 && bytes.indexOf(0, 256) % 64 !== 0
    expect(count(left, (files) => tornInsideAPage(content(files)))).toBeGreaterThan(3)
  })

  it('a synced file is lost if its directory was not synced, sometimes', async () => {
    const left = await afterPowerLoss(async ({ start }) => {
      const { disk } = start()
      await disk.makeDirectory('/d')
      await disk.syncDirectory('/')
      const file = await disk.open('/d/a', 'create')
      await file.write(OLD)
      await file.sync()
    })
    const kept = count(left, (files) => files.get('/d/a')?.equals(OLD) === true)
    expect(kept).toBeGreaterThan(10)
    expect(count(left, (files) => !files.has('/d/a'))).toBe(SEEDS - kept)
    expect(kept).toBeLessThan(SEEDS - 10)
  })

  it('the sync of a directory does not keep its own name, which its parent holds', async () => {
    const left = await afterPowerLoss(async ({ start }) => {
      const { disk } = start()
      await disk.makeDirectory('/d')
      const file = await disk.open('/d/a', 'create')
      await file.write(OLD)
      await file.sync()
      await disk.syncDirectory('/d')
    })
    const kept = count(left, (files) => files.get('/d/a')?.equals(OLD) === true)
    expect(kept).toBeGreaterThan(10)
    expect(count(left, (files) => files.size === 0)).toBe(SEEDS - kept)
    expect(kept).toBeLessThan(SEEDS - 10)
  })

  it('a removal may be undone until its directory is synced', async () => {
    const remove = (sync: boolean): Promise<Map<string, Buffer>[]> =>
      afterPowerLoss(async (world) => {
        await writeSynced(world, '/a')
        const { disk } = world.start()
        await disk.remove('/a')
        if (sync) await disk.syncDirectory('/')
      })
    const undone = count(await remove(false), (files) => files.get('/a')?.equals(OLD) === true)
    expect(undone).toBeGreaterThan(10)
    expect(undone).toBeLessThan(SEEDS - 10)
    expect(count(await remove(true), (files) => files.has('/a'))).toBe(0)
  })

  it('a rename happened or did not, and the file has one name', async () => {
    const left = await afterPowerLoss(async (world) => {
      await writeSynced(world, '/a')
      await world.start().disk.rename('/a', '/b')
    })
    expect(count(left, (files) => files.size === 1)).toBe(SEEDS)
    expect(count(left, (files) => files.has('/a'))).toBeGreaterThan(10)
    expect(count(left, (files) => files.has('/b'))).toBeGreaterThan(10)
  })

  it('what the kernel wrote back by itself has no holes', async () => {
    const left = await afterPowerLoss(
      async (world) => {
        const { disk, process } = world.start()
        const file = await disk.open('/a', 'create')
        await file.write(NEW)
        for (let round = 0; round < 60; round += 1) await world.scheduler.sleep(process, 1)
      },
      { writeBackChance: 1 },
    )
    expect(count(left, (files) => files.get('/a')?.equals(NEW.subarray(0, files.get('/a')?.length)) === true)).toBe(SEEDS)
  })

  it('a write in flight leaves any part of itself', async () => {
    const left = await afterPowerLoss(async (world) => {
      await writeSynced(world, '/a')
      const file = await world.start().disk.open('/a', 'append')
      void file.write(NEW)
    })
    const sizes = new Set(left.map((files) => files.get('/a')?.length))
    expect(sizes.size).toBeGreaterThan(30)
  })

  it('every process is dead, handles are gone, and the boot id is another', async () => {
    const { machine, scheduler, settle, start } = makeWorld(1)
    const { disk, process } = start()
    const file = await settle(disk.open('/a', 'create'))
    const before = await settle(disk.bootId())
    let answered = false
    file.write(NEW).then(() => {
      answered = true
    })
    machine.powerLoss()
    expect(process.alive).toBe(false)
    expect(machine.used).toBe([...machine.snapshot().values()].reduce((sum, bytes) => sum + bytes.length, 0))
    expect(() => file.writeSync(NEW)).toThrow()
    void file.sync()
    expect(await scheduler.run()).toBe('idle')
    expect(answered).toBe(false)
    expect(await settle(start().disk.bootId())).not.toBe(before)
  })
})

describe('a failed sync', () => {
  const failOnce = async (world: World, later: Buffer): Promise<void> => {
    await writeSynced(world, '/a')
    const file = await world.start().disk.open('/a', 'append')
    await file.write(NEW)
    world.machine.faults.set({ sync: 1 })
    expect(errorCode(await file.sync().catch((error: unknown) => error))).toBe('EIO')
    world.machine.heal()
    expect(file.readSync(OLD.length, NEW.length)).toEqual(NEW)
    await file.write(later)
    await file.sync()
  }

  it('loses its pages for good, though they can be read and the next sync succeeds', async () => {
    const left = await afterPowerLoss((world) => failOnce(world, Buffer.alloc(0)))
    const kept = count(left, (files) => files.get('/a')?.equals(Buffer.concat([OLD, NEW])) === true)
    expect(kept).toBeLessThan(SEEDS / 2)
    expect(count(left, (files) => files.get('/a')?.subarray(0, OLD.length).equals(OLD) === true)).toBe(SEEDS)
  })

  it('leaves alone what later writes dirty again: such a page is written whole', async () => {
    const later = Buffer.from('later')
    const left = await afterPowerLoss((world) => failOnce(world, later))
    const end = OLD.length + NEW.length
    const page = end - (end % 64)
    const all = Buffer.concat([OLD, NEW, later])
    expect(count(left, (files) => files.get('/a')?.subarray(page).equals(all.subarray(page)) === true)).toBe(SEEDS)
    expect(count(left, (files) => files.get('/a')?.includes(0) === true)).toBeGreaterThan(SEEDS / 2)
  })

  it('is told once to every handle that was open, and to none opened later', async () => {
    const { machine, settle, start } = makeWorld(3)
    const [first, second] = [start(), start()]
    const [one, other, idle] = [
      await settle(first.disk.open('/a', 'create')),
      await settle(second.disk.open('/a', 'append')),
      await settle(second.disk.open('/a', 'read')),
    ]
    one.writeSync(NEW)
    machine.faults.set({ sync: 1 })
    await expect(settle(one.sync())).rejects.toMatchObject({ code: 'EIO' })
    machine.heal()
    const late = await settle(second.disk.open('/a', 'append'))
    await settle(late.sync())
    await settle(one.sync())
    for (const handle of [other, idle]) {
      await expect(settle(handle.sync())).rejects.toMatchObject({ code: 'EIO' })
      await settle(handle.sync())
    }
    expect(machine.faults.counts.sync).toBe(1)
  })

  it('may be one that nobody asked for: a write-back that failed is told at the next sync', async () => {
    const { machine, settle, start } = makeWorld(4, { writeBackChance: 1, faults: { writeBack: 1 } })
    const { disk } = start()
    const [one, other] = [await settle(disk.open('/a', 'create')), await settle(disk.open('/a', 'append'))]
    one.writeSync(NEW)
    await settle(disk.syncDirectory('/'))
    await settle(disk.list('/'))
    machine.heal()
    for (const handle of [one, other]) {
      await expect(settle(handle.sync())).rejects.toMatchObject({ code: 'EIO' })
      await settle(handle.sync())
    }
    expect(machine.snapshot().get('/a')).toEqual(NEW)
  })
})
