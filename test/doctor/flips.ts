/** Flips bits of a store, one at a time, and has the doctor look at what is left. */
import type { Files } from './disk.ts'
import { findingsIn } from './sample.ts'

export interface Flips {
  readonly bits: number
  /** Bits whose flipping the doctor does not notice. */
  readonly unnoticed: string[]
  /** Bits that are noticed, but elsewhere than where they are. */
  readonly misplaced: string[]
}

/** One bit in so many of the files below `sessions/` that end so. */
export async function flipBits(files: Files, ending: string, step: number, start = 0): Promise<Flips> {
  const flips: Flips = { bits: 0, unnoticed: [], misplaced: [] }
  let [count, bits] = [0, 0]
  for (const [path, bytes] of files) {
    if (!path.startsWith('/store/sessions/') || !path.endsWith(ending)) continue
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      if (count++ % step !== start) continue
      bits++
      const flipped = Buffer.from(bytes)
      flipped[bit >>> 3] = (flipped[bit >>> 3] as number) ^ (1 << (bit & 7))
      const findings = await findingsIn(new Map(files).set(path, flipped))
      const what = `bit ${bit & 7} of byte ${bit >>> 3} of ${path}`
      if (findings.length === 0) flips.unnoticed.push(what)
      const covering = findings.some(({ segment, offset, length }) => {
        if (segment === null || !path.includes(String(segment).padStart(16, '0'))) return false
        return path.endsWith('.ids') || (offset !== null && length !== null && offset <= bit >>> 3 && bit >>> 3 <= offset + length)
      })
      if (findings.length > 0 && !covering) flips.misplaced.push(what)
    }
  }
  return { ...flips, bits }
}
