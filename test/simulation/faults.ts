/** What can go wrong on a simulated disk, how often, and how often it did. */
import type { Random } from './random.ts'

/** Calls that can be made to fail, with the errors they then fail with. */
const CODES = {
  open: ['EMFILE', 'EIO'],
  stat: ['EIO'],
  read: ['EIO'],
  /** A part, or even all, may have landed. */
  write: ['EIO', 'ENOSPC'],
  /** The dirty pages are lost, and every open handle hears of it once. */
  sync: ['EIO'],
  /** The handle is closed nevertheless. */
  close: ['EIO'],
  makeDirectory: ['EIO', 'ENOSPC'],
  list: ['EMFILE', 'EIO'],
  remove: ['EIO'],
  rename: ['EIO', 'ENOSPC'],
  /** A part may have landed. */
  overwrite: ['EIO'],
  syncDirectory: ['EMFILE', 'EIO'],
  fileSystem: ['EIO'],
  bootId: ['EIO'],
} as const satisfies Record<string, readonly string[]>

export type CallName = keyof typeof CODES

export type FaultKind =
  | CallName
  /** A write takes fewer bytes than it was given, and says so. */
  | 'shortWrite'
  /** The kernel's own write-back fails: like a failed sync, but nobody asked. Per write-back. */
  | 'writeBack'
  /** No new file or directory fits on a full disk. Counted among the faults, and likely by default. */
  | 'createWhenFull'
  /** A process dies inside a synchronous write. The call throws, as code that runs cannot be stopped, and so do all after it. */
  | 'death'
  /** A watcher is not told. */
  | 'hint'

/** Probability by kind. */
export type FaultPlan = Partial<Record<FaultKind, number>>

const DEFAULTS: FaultPlan = { createWhenFull: 0.5, hint: 0.2 }

export class Faults {
  readonly #random: Random
  #plan: FaultPlan
  /** How often each kind struck. */
  readonly counts: Partial<Record<FaultKind, number>> = {}

  constructor(random: Random, plan: FaultPlan) {
    this.#random = random
    this.#plan = { ...DEFAULTS, ...plan }
  }

  /** Changes the probabilities of the kinds that are given. */
  set(plan: FaultPlan): void {
    this.#plan = { ...this.#plan, ...plan }
  }

  /** Nothing goes wrong by itself any more. */
  heal(): void {
    this.#plan = {}
  }

  strikes(kind: FaultKind): boolean {
    if (!this.#random.chance(this.#plan[kind] ?? 0)) return false
    this.counts[kind] = (this.counts[kind] ?? 0) + 1
    return true
  }

  /** Throws if this call is to fail. */
  check(call: CallName, path: string): void {
    if (this.strikes(call)) throw this.error(call, path)
  }

  error(call: CallName, path: string): Error {
    return diskError(this.#random.pick(CODES[call]), call, path)
  }
}

/** A plan in which every call fails with the same probability. */
export function everyCallFails(probability: number): FaultPlan {
  const plan: FaultPlan = { shortWrite: probability, writeBack: probability }
  for (const call of Object.keys(CODES)) plan[call as CallName] = probability
  return plan
}

/** An error like those of node:fs. */
export function diskError(code: string, call: string, path: string): Error {
  return Object.assign(new Error(`${code}: simulated, ${call} '${path}'`), { code, syscall: call, path })
}
