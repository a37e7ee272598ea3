import { describe, expect, it } from 'vitest'
import { Random, simulatedIds } from './random.ts'
import { Scheduler, simulatedClock } from './scheduler.ts'
import { makeWorld } from './world.ts'

describe('the seeded generator', () => {
  it('gives the same numbers for the same seed and others for its neighbour', () => {
    const draw = (seed: number): number[] => {
      const random = new Random(seed)
      return Array.from({ length: 20 }, () => random.word())
    }
    expect(draw(5)).toEqual(draw(5))
    expect(draw(5)).not.toEqual(draw(6))
  })

  it('spreads over its range', () => {
    const random = new Random(1)
    const counts = [0, 0, 0, 0, 0]
    for (let draw = 0; draw < 10_000; draw += 1) {
      const picked = random.int(5)
      counts[picked] = (counts[picked] ?? 0) + 1
    }
    for (const count of counts) expect(Math.abs(count - 2000)).toBeLessThan(200)
  })

  it('makes ids that the seed decides and that look like real ones', () => {
    const ids = simulatedIds(new Random(3))
    const same = simulatedIds(new Random(3))
    const id = ids.next(1_750_000_000_000)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(same.next(1_750_000_000_000)).toBe(id)
    expect(ids.next(1_750_000_000_000)).not.toBe(id)
    expect(ids.hex(7)).toMatch(/^[0-9a-f]{7}$/)
  })
})

describe('the scheduler', () => {
  it('answers calls in an order that the seed decides', async () => {
    const order = async (seed: number): Promise<string> => {
      const scheduler = new Scheduler(new Random(seed))
      const answered: string[] = []
      for (const name of ['a', 'b', 'c', 'd']) {
        const process = scheduler.start(name)
        scheduler.submit(process, { perform: () => name }).then((result) => answered.push(result))
      }
      expect(await scheduler.run()).toBe('idle')
      return answered.join('')
    }
    const orders = new Set<string>()
    for (let seed = 0; seed < 50; seed += 1) {
      const first = await order(seed)
      expect(await order(seed)).toBe(first)
      orders.add(first)
    }
    expect(orders.size).toBeGreaterThan(10)
  })

  it('lets code run until it waits again before it takes the next step', async () => {
    const scheduler = new Scheduler(new Random(1), { lateDelivery: 0 })
    const process = scheduler.start()
    let hops = 0
    const first = scheduler.submit(process, { perform: () => scheduler.step }).then(async () => {
      for (; hops < 1000; hops += 1) await null
    })
    await scheduler.run({ steps: 1 })
    expect(hops).toBe(1000)
    await first
  })

  it('lets others act between the effect of a call and its answer', async () => {
    let between = 0
    for (let seed = 0; seed < 50; seed += 1) {
      const scheduler = new Scheduler(new Random(seed))
      let value = 0
      scheduler.submit(scheduler.start(), { perform: () => value }).then((seen) => {
        if (seen !== value) between += 1
      })
      scheduler.submit(scheduler.start(), {
        perform: () => {
          value = 1
        },
      })
      await scheduler.run()
    }
    expect(between).toBeGreaterThan(0)
  })

  it('sleeps without waiting, in order of time', async () => {
    const lengths = [86_400_000, 5, 3_600_000, 400, 60_000]
    const scheduler = new Scheduler(new Random(2))
    const clock = simulatedClock(scheduler, scheduler.start())
    const woken: number[] = []
    for (const ms of lengths) clock.sleep(ms).then(() => woken.push(ms))
    expect(await scheduler.run()).toBe('idle')
    expect(woken).toEqual(lengths.toSorted((a, b) => a - b))
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(86_400_000)
    expect(scheduler.step).toBeLessThan(100)
  })

  it('sets the wall clock back at times, and the monotonic clock never', async () => {
    const scheduler = new Scheduler(new Random(3), { wallJump: 0.05 })
    const clock = simulatedClock(scheduler, scheduler.start())
    let [wall, monotonic, wentBack] = [clock.now(), clock.monotonicMs(), 0]
    for (let round = 0; round < 500; round += 1) {
      clock.sleep(1)
      await scheduler.run()
      if (clock.now() < wall) wentBack += 1
      expect(Number.isInteger(clock.now())).toBe(true)
      expect(clock.monotonicMs()).toBeGreaterThanOrEqual(monotonic)
      ;[wall, monotonic] = [clock.now(), clock.monotonicMs()]
    }
    expect(wentBack).toBeGreaterThan(0)
  })

  it('begins the monotonic clock with the process', async () => {
    const scheduler = new Scheduler(new Random(4))
    simulatedClock(scheduler, scheduler.start()).sleep(1000)
    await scheduler.run()
    expect(simulatedClock(scheduler, scheduler.start()).monotonicMs()).toBe(0)
  })

  it('holds a process back for long at times', async () => {
    const scheduler = new Scheduler(new Random(5), { stall: 0.01 })
    let [longest, last] = [0, 0]
    const loop = async (watched: boolean): Promise<void> => {
      for (const process = scheduler.start(); ; ) {
        await scheduler.submit(process, { perform: () => undefined })
        if (!watched) continue
        longest = Math.max(longest, scheduler.step - last)
        last = scheduler.step
      }
    }
    for (const watched of [true, false, false]) void loop(watched)
    expect(await scheduler.run({ steps: 5000 })).toBe('limit')
    expect(longest).toBeGreaterThan(60)
  })

  it('stops at the step limit and goes on from there', async () => {
    const scheduler = new Scheduler(new Random(6))
    const process = scheduler.start()
    let rounds = 0
    const loop = async (): Promise<void> => {
      for (; ; rounds += 1) await scheduler.submit(process, { perform: () => undefined })
    }
    void loop()
    expect(await scheduler.run({ steps: 100 })).toBe('limit')
    expect(scheduler.step).toBe(100)
    expect(await scheduler.run({ until: () => rounds === 500 })).toBe('until')
    expect(rounds).toBe(500)
  })

  it('refuses a run inside of a run', async () => {
    const scheduler = new Scheduler(new Random(7))
    const first = scheduler.run()
    await expect(scheduler.run()).rejects.toThrow(TypeError)
    await first
  })

  it('never answers a process that was killed, asleep or waiting', async () => {
    const { scheduler, start } = makeWorld(8)
    const { process, disk } = start()
    let answers = 0
    const count = (): void => {
      answers += 1
    }
    disk.list('/').then(count, count)
    scheduler.sleep(process, 1).then(count, count)
    scheduler.kill(process)
    disk.list('/').then(count, count)
    scheduler.sleep(process, 1).then(count, count)
    expect(await scheduler.run()).toBe('idle')
    expect([answers, scheduler.step]).toEqual([0, 0])
  })
})
