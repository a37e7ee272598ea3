import { describe, expect, it } from 'vitest'
import type { Disk } from '../../src/engines/files/disk.ts'
import { everyCallFails } from './faults.ts'
import { simulatedClock } from './scheduler.ts'
import { makeWorld, type World } from './world.ts'

const A = Buffer.from('a'.repeat(100))

describe('a process that is killed', () => {
  it('leaves any prefix of its write in flight, which nobody is told of', async () => {
    const sizes = new Set<number>()
    for (let seed = 0; seed < 100; seed += 1) {
      const { machine, scheduler, settle, start } = makeWorld(seed)
      const { disk, process } = start()
      const file = await settle(disk.open('/a', 'create'))
      let answered = false
      file.write(A.subarray(0, 9)).finally(() => {
        answered = true
      })
      scheduler.kill(process)
      expect(await scheduler.run()).toBe('idle')
      expect(answered).toBe(false)
      const content = machine.snapshot().get('/a') as Buffer
      expect(content).toEqual(A.subarray(0, content.length))
      sizes.add(content.length)
    }
    expect(sizes.size).toBe(10)
  })

  it('may have done what else it had in flight, or not', async () => {
    let removed = 0
    for (let seed = 0; seed < 50; seed += 1) {
      const { machine, scheduler, settle, start } = makeWorld(seed)
      const { disk, process } = start()
      await settle(disk.open('/a', 'create'))
      void disk.remove('/a')
      scheduler.kill(process)
      if (machine.snapshot().size === 0) removed += 1
    }
    expect(removed).toBeGreaterThan(10)
    expect(removed).toBeLessThan(40)
  })

  it('gives back the space of removed files that only it had open', async () => {
    const { machine, scheduler, settle, start } = makeWorld(11)
    const { disk, process } = start()
    const file = await settle(disk.open('/a', 'create'))
    file.writeSync(A)
    await settle(disk.remove('/a'))
    expect(machine.used).toBe(100)
    scheduler.kill(process)
    expect(machine.used).toBe(0)
  })

  it('can die inside of a synchronous write, and does nothing afterwards', async () => {
    const { machine, settle, start } = makeWorld(10, { faults: { death: 1 } })
    const { disk, process } = start()
    const file = await settle(disk.open('/a', 'create'))
    expect(() => file.writeSync(A)).toThrow('ESRCH')
    expect(process.alive).toBe(false)
    const { length } = machine.snapshot().get('/a') as Buffer
    expect(() => file.writeSync(A)).toThrow('ESRCH')
    expect(machine.snapshot().get('/a')).toHaveLength(length)
  })
})

describe('a run', () => {
  async function client(world: World, disk: Disk, sleep: (ms: number) => Promise<void>, mark: string): Promise<void> {
    const file = await disk.open('/a', 'create')
    for (let round = 0; ; round += 1) {
      try {
        file.stat()
        if (round % 2 === 0) file.writeSync(Buffer.from(mark.repeat(40)))
        else await file.write(Buffer.from(mark.repeat(40)))
        await file.sync()
        await disk.list('/')
      } catch {
        await sleep(world.scheduler.random.int(5))
      }
    }
  }

  async function tracedRun(seed: number): Promise<{ trace: string[]; left: string[] }> {
    const world = makeWorld(seed, { capacity: 20_000, faults: { ...everyCallFails(0.02), open: 0, death: 0.001 } })
    world.scheduler.trace = []
    for (const mark of ['x', 'y', 'z']) {
      const { disk, process } = world.start(mark)
      void client(world, disk, simulatedClock(world.scheduler, process).sleep, mark)
    }
    await world.scheduler.run({ steps: 1000 })
    world.machine.powerLoss()
    return { trace: world.scheduler.trace, left: [...world.machine.snapshot()].map(([path, bytes]) => `${path} ${bytes.toString('hex')}`) }
  }

  it('is the same for the same seed, step by step and byte by byte', async () => {
    const traces = new Set<string>()
    for (let seed = 0; seed < 20; seed += 1) {
      const run = await tracedRun(seed)
      expect(await tracedRun(seed)).toEqual(run)
      expect(run.trace.length).toBeGreaterThan(500)
      traces.add(run.trace.join('\n'))
    }
    expect(traces.size).toBe(20)
  })

  it('is described by its trace: step, process, call and result', async () => {
    const { trace } = await tracedRun(1)
    expect(trace.find((line) => line.includes(' open '))).toMatch(/^\d+ [xyz] open \/a -> handle$/)
    expect(trace.some((line) => /^\d+ [xyz] write \/a -> 40$/.test(line))).toBe(true)
    expect(trace.some((line) => /^\d+ [xyz] \w+ \/a? ?-> E[A-Z]+: simulated/.test(line))).toBe(true)
    expect(trace.at(-1)).toBe('1000 - power loss')
  })
})
