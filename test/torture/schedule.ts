/** What goes wrong, and when: a list that a seed decides, however the processes that it hits may run. */
import type { Random } from '../simulation/random.ts'
import type { Fault } from './fault-kinds.ts'
import { FLIPPED, type FlipOrder } from './flips.ts'
import type { HarmOrder } from './harm-order.ts'
import type { HarmKind } from './harms.ts'

/** `at`: milliseconds after the beginning. `place`, `way`: which one, by its number. */
export type Trouble = { readonly at: number } & (
  | { readonly kind: 'kill'; readonly place: number }
  | { readonly kind: 'kill all' }
  | { readonly kind: 'power cut' }
  | { readonly kind: 'stop'; readonly place: number; readonly forMs: number }
  | { readonly kind: 'fault'; readonly place: number; readonly fault: Fault; readonly every: number; readonly forMs: number }
  | { readonly kind: 'clock'; readonly place: number; readonly skewMs: number }
  | { readonly kind: 'kill database' }
  | ({ readonly kind: 'harm' } & HarmOrder)
  | ({ readonly kind: 'flip' } & FlipOrder)
  | { readonly kind: 'unmount'; readonly forMs: number }
  | { readonly kind: 'cut' | 'reset' | 'slow'; readonly way: number; readonly forMs: number }
)

export interface Possible {
  readonly places: number
  readonly ways: number
  readonly database: boolean
  /** Calls of processes can be made to fail, and what they did not sync be taken away. */
  readonly faults: boolean
  /** Clocks of running processes can be moved. */
  readonly clocks: boolean
  /** Longer than any lease. */
  readonly leaseMs: number
  /** What can be done to the bytes of sessions. */
  readonly harms: readonly HarmKind[]
  /** The store has derived files. */
  readonly flips: boolean
  /** The store can be unmounted. */
  readonly mounts: boolean
}

const DAY_MS = 86_400_000
const FAULT_KINDS: readonly Fault[] = [
  'full disk',
  'full disk',
  'failing write',
  'short write',
  'failing sync',
  'failing sync',
  'failing read',
]

/** Everything that is harmed can be accepted, and used again, before the run is over. */
const UNHARMED_MS = 12_000
/** By then sessions have something that is old enough. */
const FIRST_HARM_MS = 5000
const HARM_SHARE = 0.14
/** A power cut is the only trouble that finds a record which was acknowledged before it was synced, so each run has one, and a long run has many. */
const FIRST_CUT_MS = 4000
const BETWEEN_CUTS_MS = 10_000
/** What was lost is to be missed, and used again, before the run is over. */
const LAST_CUT_MS = 2000
/** A few in each ten seconds. */
const FIRST_FLIP_MS = 1500
const BETWEEN_FLIPS_MS = 800
/** Each run has one before its first power cut. */
const FIRST_UNMOUNT_MS = 2000
const BETWEEN_UNMOUNTS_MS = 12_000
const UNMOUNTED_MS = 1000
/** How often a flip hits the first or the last bytes of a file, which are few and matter most. */
const EDGE_SHARE = 0.3
const EDGE = 0.01

export function scheduleOf(random: Random, durationMs: number, possible: Possible): Trouble[] {
  const troubles: Trouble[] = []
  // Whoever has just begun is given a moment to do something that can be spoiled.
  for (let at = 1500 + random.int(500); at < durationMs; at += 100 + random.int(900)) {
    const isHarm = random.chance(HARM_SHARE) && possible.harms.length > 0 && at > FIRST_HARM_MS && at < durationMs - UNHARMED_MS
    troubles.push({ at, ...(isHarm ? harmOf(random, possible.harms) : oneOf(random, possible)) })
  }
  if (possible.faults) troubles.push(...cutsOf(random, durationMs))
  if (possible.flips) troubles.push(...flipsOf(random, durationMs))
  if (possible.mounts) troubles.push(...unmountsOf(random, durationMs))
  return troubles.sort((a, b) => a.at - b.at)
}

function cutsOf(random: Random, durationMs: number): Trouble[] {
  const cuts: Trouble[] = []
  for (let at = FIRST_CUT_MS + random.int(1000); at < durationMs - LAST_CUT_MS; at += BETWEEN_CUTS_MS + random.int(BETWEEN_CUTS_MS))
    cuts.push({ at, kind: 'power cut' })
  return cuts
}

function flipsOf(random: Random, durationMs: number): Trouble[] {
  const flips: Trouble[] = []
  for (let at = FIRST_FLIP_MS + random.int(BETWEEN_FLIPS_MS); at < durationMs; at += BETWEEN_FLIPS_MS + random.int(2 * BETWEEN_FLIPS_MS)) {
    const part = random.float()
    const where = random.chance(EDGE_SHARE) ? (random.chance(0.5) ? part * EDGE : 1 - EDGE + part * EDGE) : part
    flips.push({ at, kind: 'flip', file: random.pick(FLIPPED), which: random.float(), where, bit: random.int(8) })
  }
  return flips
}

function unmountsOf(random: Random, durationMs: number): Trouble[] {
  const unmounts: Trouble[] = []
  for (
    let at = FIRST_UNMOUNT_MS + random.int(500);
    at < durationMs - LAST_CUT_MS;
    at += BETWEEN_UNMOUNTS_MS + random.int(BETWEEN_UNMOUNTS_MS)
  )
    unmounts.push({ at, kind: 'unmount', forMs: UNMOUNTED_MS + random.int(UNMOUNTED_MS) })
  return unmounts
}

type Kind = Trouble extends infer T ? (T extends { at: number } ? Omit<T, 'at'> : never) : never

function harmOf(random: Random, harms: readonly HarmKind[]): Kind {
  return {
    kind: 'harm',
    harm: random.pick(harms),
    which: random.float(),
    where: random.float(),
    how: random.float(),
    forMs: 500 + random.int(4500),
  }
}

function oneOf(random: Random, { places, ways, database, faults, clocks, leaseMs }: Possible): Kind {
  const place = random.int(places)
  const way = random.int(Math.max(1, ways))
  const choice = random.float()
  if (choice < 0.01) return { kind: 'kill all' }
  if (database && choice < 0.03) return { kind: 'kill database' }
  if (ways > 0 && choice < 0.35) return { kind: random.pick(['cut', 'cut', 'reset', 'slow'] as const), way, forMs: 100 + random.int(900) }
  if (faults && choice < 0.4) {
    return { kind: 'fault', place, fault: random.pick(FAULT_KINDS), every: 1 + random.int(6), forMs: 100 + random.int(1400) }
  }
  if (clocks && choice < 0.48) return { kind: 'clock', place, skewMs: Math.round((random.float() - 0.5) * 4 * DAY_MS) }
  if (choice < 0.6) return { kind: 'stop', place, forMs: random.chance(0.3) ? leaseMs + 500 + random.int(leaseMs) : random.int(400) }
  return { kind: 'kill', place }
}
