/** The same journals on the simulated machine, where power can be lost, syncs fail and the disk be full. */
import { simulatedIds } from '../simulation/random.ts'
import { type SimulatedProcess, simulatedClock } from '../simulation/scheduler.ts'
import type { World } from '../simulation/world.ts'
import { type Found, inspect, type Opened, type OpenOptions, open } from './journal.ts'

/** Starts a process on the machine and opens the store in it. */
export async function start(world: World, options: Partial<OpenOptions> = {}): Promise<Opened & { readonly process: SimulatedProcess }> {
  const { process, disk } = world.start()
  const clock = simulatedClock(world.scheduler, process)
  const ids = simulatedIds(world.scheduler.random)
  const opened = await world.settle(
    open({ directory: '/store', disk, clock, ids, ...options, limits: { reserveBytes: 2_000, ...options.limits } }),
  )
  return { ...opened, process }
}

/** What a process that starts now finds. */
export async function lookAnew(world: World): Promise<Found> {
  const { journal } = await start(world)
  return world.settle(inspect(journal))
}
