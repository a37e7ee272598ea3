/** What a seed makes of a run with harms: what is done to the files, how often, and what else goes wrong in it. */
import type { Plan, Trouble } from '../plan.ts'
import type { Random } from '../random.ts'

/**
 * What is done to the files of a store. `cut`: a file is cut. `regrow`: cut, and grown again beyond its size. `behead`: an early segment is removed.
 * `blind`: all segments but the last are removed, and its checkpoint rots. `roll back`: a file has an older content again. `replace`: the same
 * content in another file. `linked`: a backup holds the file by another name, and it is removed or replaced. `watermarks`: files of watermarks are
 * cut or removed.
 */
const HARMS = [
  'cut',
  'regrow',
  'delete',
  'delete directory',
  'behead',
  'blind',
  'swap',
  'roll back',
  'replace',
  'linked',
  'watermarks',
] as const
export type Harm = (typeof HARMS)[number]

/** What a run is about, so that few seeds are needed to meet it. */
export const FOCUSES = [
  'slow',
  'busy',
  'cut',
  'links',
  'beginning',
  'copies',
  'power',
  'late',
  'accept',
  'epoch',
  'compaction',
  'swap',
] as const
export type Focus = (typeof FOCUSES)[number]

export interface HarmPlan {
  readonly kinds: readonly Harm[]
  readonly harms: number
  /** Per step, and per call that cannot be interrupted. */
  readonly chance: number
  /** Harm is done only where a watermark in a file covers the end of the journal. */
  readonly patient: boolean
  readonly copies: number
  /** How often a copy that is finished takes the place of the store. */
  readonly restoreChance: number
  readonly births: boolean
  /** How often what a client was told to be damaged is accepted by it. */
  readonly acceptChance: number
  readonly leaseChance: number
  readonly closeChance: number
  readonly watermarkBytes: number
  readonly sameShard: boolean
  /** How fast a copy is made: per step and file. */
  readonly copyChance: number
  /** Journals are copied before watermarks: those of the copy are newer. */
  readonly journalsFirst: boolean
  /** How often time jumps to the next sleeper, per step: watermarks are written sooner. */
  readonly timeJump: number
  /** How often the kernel writes something back, per step; and how often a sync takes longer. */
  readonly writeBackChance: number
  readonly slowSyncChance: number
  readonly troubles: readonly Trouble[]
  readonly refine: (plan: Plan) => Plan
}

const TROUBLES: readonly Trouble[] = ['none', 'none', 'none', 'kills', 'power', 'power', 'sync', 'calls', 'full', 'purge']
const ENDS: readonly Harm[] = ['cut', 'regrow', 'delete', 'delete directory', 'roll back']

export function makeHarmPlan(random: Random, focus?: Focus): HarmPlan {
  const kinds = random.chance(0.5) ? HARMS : [random.pick(HARMS)]
  const processes = 2 + random.int(3)
  const base: HarmPlan = {
    kinds,
    harms: random.pick([0, 1, 1, 2, 3]),
    chance: random.pick([0.003, 0.01, 0.03]),
    patient: random.chance(0.6),
    copies: random.pick([0, 0, 1, 2]),
    restoreChance: random.pick([0, 0.5]),
    births: !random.chance(0.1),
    acceptChance: random.pick([0.1, 0.3]),
    leaseChance: random.pick([0, 0.1]),
    closeChance: random.pick([0, 0.05]),
    watermarkBytes: random.pick([300, 700, 32_768]),
    sameShard: random.chance(0.5),
    copyChance: random.pick([0.03, 0.1]),
    journalsFirst: random.chance(0.5),
    timeJump: random.pick([0.01, 0.05]),
    writeBackChance: random.pick([0.02, 0.1]),
    slowSyncChance: random.pick([0, 0.5]),
    troubles: TROUBLES,
    refine: (plan) => ({ ...plan, processes }),
  }
  return { ...base, ...(focus === undefined ? {} : FOCUSED[focus](processes)) }
}

const FOCUSED: Record<Focus, (processes: number) => Partial<HarmPlan>> = {
  slow: () => ({
    ...{ harms: 0, copies: 0, leaseChance: 0, timeJump: 0.3, writeBackChance: 0.1, slowSyncChance: 0.97 },
    troubles: ['power'],
    refine: (plan) => ({ ...plan, journals: 1, processes: 2, powerLosses: 12, powerLossChance: 0.01 }),
  }),
  busy: () => ({
    harms: 0,
    copies: 0,
    watermarkBytes: 32_768,
    troubles: ['none'],
    refine: (plan) => ({
      ...plan,
      journals: 1,
      processes: 4,
      clients: 5,
      wishes: 14,
      textBytes: 600,
      segmentBytes: 300,
      syncWriteBytes: 0,
    }),
  }),
  cut: () => ({ kinds: ENDS, patient: true, harms: 3, chance: 0.003, copies: 0, troubles: ['none', 'kills'] }),
  links: () => ({ kinds: ['linked', 'replace'], harms: 3, chance: 0.003, copies: 0, troubles: ['none'] }),
  swap: () => ({ kinds: ['swap'], harms: 2, chance: 0.003, copies: 0, troubles: ['none'], refine: (plan) => ({ ...plan, journals: 2 }) }),
  beginning: () => ({
    kinds: ['behead', 'blind'],
    harms: 1,
    chance: 0.003,
    acceptChance: 0.5,
    copies: 0,
    troubles: ['none', 'kills'],
    refine: (plan) => ({ ...plan, journals: 1, wishes: 20, segmentBytes: 600 }),
  }),
  copies: () => ({
    ...{ harms: 0, copies: 3, restoreChance: 0.7, births: true, copyChance: 0.03, journalsFirst: true, timeJump: 0.05 },
    ...{ sameShard: true, troubles: ['none', 'kills'] },
    refine: (plan) => ({ ...plan, wishes: 14 }),
  }),
  power: (processes) => ({
    harms: 0,
    copies: 0,
    leaseChance: 0.4,
    timeJump: 0.2,
    writeBackChance: 0.1,
    slowSyncChance: 0.9,
    troubles: ['power'],
    refine: (plan) => ({ ...plan, processes, powerLosses: 6, powerLossChance: 0.01 }),
  }),
  late: () => ({
    kinds: ENDS,
    harms: 3,
    chance: 0.01,
    copies: 0,
    acceptChance: 0,
    troubles: ['none'],
    refine: (plan) => ({ ...plan, journals: 1, processes: 3, clients: 4, wishes: 12, syncWriteBytes: 65_536 }),
  }),
  accept: () => ({ kinds: ENDS, harms: 3, chance: 0.005, copies: 0, acceptChance: 0.5, troubles: ['none', 'kills'] }),
  epoch: () => ({
    kinds: ['blind'],
    harms: 1,
    chance: 0.003,
    patient: false,
    acceptChance: 0.8,
    copies: 0,
    troubles: ['none', 'kills'],
    refine: (plan) => ({ ...plan, journals: 1, processes: 4, clients: 5, wishes: 20, segmentBytes: 600 }),
  }),
  compaction: (processes) => ({
    kinds: ENDS,
    harms: 1,
    chance: 0.002,
    copies: 0,
    watermarkBytes: 300,
    troubles: ['none', 'power'],
    refine: (plan) => ({ ...plan, processes, journals: 1, wishes: 14, powerLosses: 2 }),
  }),
}
