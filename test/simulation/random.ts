/**
 * Randomness that one number decides. Everything in a simulated run draws from here and nowhere else, so a seed that failed once
 * fails again.
 */
import { type Ids, uuid7 } from '../../src/engine/ids.ts'

/** sfc32: four words of state, fast, and good enough to pick interleavings. */
export class Random {
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number) {
    let state = seed | 0
    // Neighbouring seeds must not give neighbouring runs, so the seed is scattered by splitmix32 before it is used.
    const scatter = (): number => {
      state = (state + 0x9e3779b9) | 0
      let word = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
      word = Math.imul(word ^ (word >>> 15), 0x735a2d97)
      return word ^ (word >>> 15)
    }
    this.#a = scatter()
    this.#b = scatter()
    this.#c = scatter()
    for (let round = 0; round < 12; round += 1) this.word()
  }

  /** 32 bits, not negative. */
  word(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    return sum >>> 0
  }

  /** A number in [0, 1). */
  float(): number {
    return this.word() / 0x1_0000_0000
  }

  /** A whole number in [0, n). */
  int(n: number): number {
    return Math.floor(this.float() * n)
  }

  /** True with probability p. What cannot happen draws nothing, so a fault that is switched off does not shift the run. */
  chance(p: number): boolean {
    return p > 0 && this.float() < p
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError('Nothing to pick from.')
    return items[this.int(items.length)] as T
  }

  /** A generator of its own, so that how much one part draws does not shift what another part draws. */
  fork(): Random {
    return new Random(this.word())
  }
}

/** Ids that the seed decides. */
export function simulatedIds(random: Random): Ids {
  const own = random.fork()
  return {
    next: (now) =>
      uuid7(
        now,
        Uint8Array.from({ length: 10 }, () => own.int(256)),
      ),
    random: () => own.float(),
    hex: (digits) => Array.from({ length: digits }, () => own.int(16).toString(16)).join(''),
  }
}
