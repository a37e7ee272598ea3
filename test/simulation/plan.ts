/** What a seed makes of a run: how many take part, and what goes wrong. Most runs have one kind of trouble, so that it is met often. */
import { everyCallFails, type FaultPlan } from './faults.ts'
import type { Random } from './random.ts'

/**
 * What goes wrong in a run. `purge` is no failure: sessions are deleted, created again and purged all the time. `carry`: syncs fail, and so do
 * the writes that carry along what they left. What a seed has is picked from here, so a change of this list changes every seed.
 */
export const TROUBLES = ['none', 'kills', 'power', 'power', 'sync', 'sync', 'calls', 'full', 'full', 'purge', 'carry', 'all'] as const
/**
 * Only if asked for. `directories`: their syncs fail, and a process that has this trouble seldom gets further. `shown`: processes die before they sync what
 * they wrote, and the power often fails right after a reader was shown something.
 */
export const SPECIAL_TROUBLES = ['directories', 'shown'] as const
export type Trouble = (typeof TROUBLES)[number] | (typeof SPECIAL_TROUBLES)[number]

export interface Plan {
  readonly journals: number
  readonly processes: number
  readonly clients: number
  readonly wishes: number
  readonly textBytes: number
  readonly segmentBytes: number
  readonly syncWriteBytes: number
  readonly readBytes: number
  readonly pageBytes: number
  readonly capacity: number
  readonly refillChance: number
  readonly killChance: number
  readonly powerLosses: number
  readonly powerLossChance: number
  readonly powerLossAtEnd: boolean
  /** Nobody dies before what a failed sync left is carried along; so not even the stated limit is an excuse. */
  readonly rescued: boolean
  readonly faults: FaultPlan
  /** How often creating, deleting and purging are among the wishes. */
  readonly rare: 'never' | 'sometimes' | 'often'
  /** The power goes right after somebody was shown something. */
  readonly cutAfterReadChance: number
  readonly steps: number
}

/** `focus` decides the trouble; otherwise the seed does, among those that are given. */
export function makePlan(random: Random, focus?: Trouble, troubles: readonly Trouble[] = TROUBLES): Plan {
  const picked = random.pick(troubles)
  const trouble = focus ?? picked
  const all = trouble === 'all'
  const full = trouble === 'full' || all
  const rescued = trouble === 'carry' || (trouble === 'sync' && random.chance(0.5))
  const faults: FaultPlan = {
    ...(trouble === 'calls' || all ? everyCallFails(random.pick([0.001, 0.01])) : {}),
    ...(trouble === 'sync' || all
      ? { sync: random.pick([0.01, 0.1]), writeBack: rescued ? 0 : random.pick([0, 0.2]), syncDirectory: random.pick([0, 0.02]) }
      : {}),
    ...(trouble === 'kills' || all ? { death: random.pick([0, 0.01, 0.05]) } : {}),
    ...(full ? { shortWrite: random.pick([0, 0.02]) } : {}),
    ...(trouble === 'directories' ? { syncDirectory: 0.2 } : {}),
    ...(trouble === 'carry' ? { sync: 0.1, shortWrite: random.pick([0.05, 0.2]) } : {}),
  }
  return {
    journals: random.pick([1, 1, 1, 2]),
    processes: (trouble === 'purge' ? 2 : 1) + random.int(4),
    clients: 1 + random.int(5),
    wishes: 3 + random.int(12),
    textBytes: random.pick([20, 200, 600]),
    segmentBytes: random.pick([300, 1000, 4000]),
    syncWriteBytes: random.pick([0, 0, 300, 65_536]),
    readBytes: random.pick([100, 1000, 65_536]),
    pageBytes: random.pick([32, 64, 256]),
    capacity: full ? 6000 + random.int(10_000) : Number.POSITIVE_INFINITY,
    refillChance: full ? 0.002 : 0,
    killChance: trouble === 'kills' || all ? random.pick([0.002, 0.01]) : trouble === 'shown' ? 0.02 : 0,
    powerLosses: !rescued && (trouble === 'power' || trouble === 'sync' || trouble === 'directories' || all) ? random.int(3) : 0,
    powerLossChance: 0.003,
    powerLossAtEnd: rescued || (trouble !== 'none' && random.chance(0.6)),
    rescued,
    faults,
    rare: trouble === 'purge' ? 'often' : random.chance(0.4) ? 'sometimes' : 'never',
    cutAfterReadChance: trouble === 'shown' ? 0.3 : trouble === 'power' && random.chance(0.5) ? 0.1 : 0,
    steps: 30_000,
  }
}
