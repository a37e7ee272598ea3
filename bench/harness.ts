/**
 * What all benchmarks share. A disk and a machine change from minute to minute, so nothing is compared across runs: whatever is held
 * against another is measured in turns with it, in the same process, and the ratio is taken turn by turn. A figure is the median of its
 * rounds, told with the lowest and the highest of them.
 */

export interface Benchmark {
  readonly name: string
  /** One sentence: what is measured, and against what. */
  readonly about: string
  run(setting: Setting): Promise<Figure[]>
}

interface Setting {
  /** An empty directory that this benchmark has for itself. */
  readonly directory: string
  /** Fewer and shorter rounds, to see whether it works; the figures say little. */
  readonly quick: boolean
}

export type Unit = 'times' | 'appends/s' | 'tasks/s' | 'messages/s' | 'ms' | 'KiB' | 'MB' | 'MB/s' | 'percent' | 'false alarms'

export interface Figure {
  readonly name: string
  readonly unit: Unit
  readonly median: number
  readonly low: number
  readonly high: number
  /** What the median must reach, if anything. */
  readonly bar?: Bar
}

export interface Bar {
  readonly is: 'at least' | 'at most'
  readonly value: number
}

export function meets({ median, bar }: Figure): boolean {
  if (bar === undefined) return true
  return bar.is === 'at least' ? median >= bar.value : median <= bar.value
}

export function figure(name: string, unit: Unit, samples: readonly number[], bar?: Bar): Figure {
  const shared = { name, unit, median: median(samples), low: Math.min(...samples), high: Math.max(...samples) }
  return bar === undefined ? shared : { ...shared, bar }
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 50)
}

export function percentile(samples: readonly number[], percent: number): number {
  const sorted = [...samples].sort((a, b) => a - b)
  const value = sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))]
  if (value === undefined) throw new Error('Nothing was measured.')
  return value
}

/** One ratio for each round. */
export function ratios(these: readonly number[], against: readonly number[]): number[] {
  return these.map((value, round) => value / (against[round] ?? Number.NaN))
}

/**
 * Lets all contestants run once per round and returns their results. Who begins changes from round to round, since the one before
 * leaves work behind for the disk. A first round is thrown away: it pays for compiling.
 */
export async function interleave<N extends string, T>(
  rounds: number,
  contestants: Readonly<Record<N, () => Promise<T>>>,
): Promise<Record<N, T[]>> {
  const names = Object.keys(contestants) as N[]
  const results = Object.fromEntries(names.map((name) => [name, [] as T[]])) as Record<N, T[]>
  for (let round = -1; round < rounds; round++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(i + round + 1) % names.length] as N
      const result = await contestants[name]()
      if (round >= 0) results[name].push(result)
    }
  }
  return results
}

/** Calls one after the other until the time is over; how many there were in a second. */
export async function rateOf(milliseconds: number, call: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  let count = 0
  for (let elapsed = 0; ; ) {
    await call()
    count++
    elapsed = performance.now() - started
    if (elapsed >= milliseconds) return (count * 1000) / elapsed
  }
}

/** The same of many callers at once, each of which waits for its own call before the next. */
export async function rateOfMany(callers: number, milliseconds: number, call: () => Promise<unknown>): Promise<number> {
  const rates = await Promise.all(Array.from({ length: callers }, () => rateOf(milliseconds, call)))
  return rates.reduce((sum, rate) => sum + rate, 0)
}
