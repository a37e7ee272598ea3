/** A machine, its scheduler and one process, ready to use: what most simulated tests begin with. */
import type { Disk } from '../../src/engines/files/disk.ts'
import { type MachineOptions, SimulatedMachine } from './disk.ts'
import { Random } from './random.ts'
import { Scheduler, type SchedulerChances, type SimulatedProcess } from './scheduler.ts'

export interface World {
  readonly scheduler: Scheduler
  readonly machine: SimulatedMachine
  /** Starts a process that has the machine's disk. */
  start(name?: string): { readonly process: SimulatedProcess; readonly disk: Disk }
  /** Runs until the promise is settled. Fails if it can never be. */
  settle<T>(promise: Promise<T>): Promise<T>
}

export function makeWorld(seed: number, options: MachineOptions & { readonly chances?: Partial<SchedulerChances> } = {}): World {
  const { chances, ...machineOptions } = options
  const scheduler = new Scheduler(new Random(seed), chances)
  const machine = new SimulatedMachine(scheduler, machineOptions)
  return {
    scheduler,
    machine,
    start: (name) => {
      const process = scheduler.start(name)
      return { process, disk: machine.disk(process) }
    },
    settle: async (promise) => {
      let settled = false
      const mark = (): void => {
        settled = true
      }
      promise.then(mark, mark)
      const end = await scheduler.run({ until: () => settled })
      if (end !== 'until') throw new Error(`The run ended (${end}) at step ${scheduler.step} before the promise was settled.`)
      return promise
    },
  }
}
