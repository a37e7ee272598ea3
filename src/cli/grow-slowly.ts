/** What a process that works for long may take. */
import { setFlagsFromString } from 'node:v8'

/** By how much V8 lets the memory grow before it looks again for what is no longer used: by itself, to up to four times what is. */
const GROWTH_PERCENT = 10

export function growSlowly(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
}
