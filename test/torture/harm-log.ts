/** Where the driver writes down what it does to a store and to its processes, for the rules and for those who have to accept it. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type { Flip } from './flips.ts'
import type { Harm, Strike } from './harms.ts'
import type { History } from './history.ts'

type Line =
  | { readonly harm: Harm }
  | { readonly undone: number; readonly from: number; readonly to: number }
  | { readonly strike: Strike }
  | { readonly flip: Flip }

export class HarmLog {
  readonly path: string
  #harms = 0

  constructor(path: string) {
    this.path = path
  }

  /** Returns the number of the harm. */
  harm(harm: Harm): number {
    this.#add({ harm })
    return this.#harms++
  }

  /** Everything was put back in its place. */
  undo(number: number, from: number, to: number): void {
    this.#add({ undone: number, from, to })
  }

  strike(strike: Strike): void {
    this.#add({ strike })
  }

  flip(flip: Flip): void {
    this.#add({ flip })
  }

  #add(line: Line): void {
    appendFileSync(this.path, `${JSON.stringify(line)}\n`)
  }
}

export function readHarms(path: string): Pick<History, 'harms' | 'strikes' | 'flips'> {
  const harms: Harm[] = []
  const flips: Flip[] = []
  const strikes: Strike[] = []
  // The last line may be half written: the driver does not wait for who reads it.
  for (const text of existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []) {
    const line = JSON.parse(text) as Line
    if ('harm' in line) harms.push(line.harm)
    else if ('strike' in line) strikes.push(line.strike)
    else if ('flip' in line) flips.push(line.flip)
    else harms[line.undone] = { ...(harms[line.undone] as Harm), undone: { from: line.from, to: line.to } }
  }
  return { harms, strikes, flips }
}
