/** Goes through every state that a protocol can reach, once, in the order of their distance: what it finds is as short as it can be. */
import type { Line } from './journal.ts'
import { initial, type Mutation, next, type State, type Wish, wrong } from './protocol.ts'
import { SCENARIOS } from './scenarios.ts'

export interface Scenario {
  readonly name: string
  /** What each process wants, in its order. */
  readonly scripts: readonly (readonly Wish[])[]
  readonly crashes: number
  readonly faults: number
}

export interface Explored {
  readonly states: number
  /** What is wrong, and how it came to that; undefined if nothing is. */
  readonly found: { readonly what: string; readonly steps: readonly string[] } | undefined
}

/** More than any scenario has: a protocol that goes round for ever would have no end of states. */
const MOST_STATES = 3_000_000

export function explore({ scripts, crashes, faults }: Scenario, bugs: Mutation = {}): Explored {
  const begin = initial(scripts.length, { crashes, faults })
  const seen = new Set([keyOf(begin)])
  let layer: { readonly state: State; readonly from: Path | undefined }[] = [{ state: begin, from: undefined }]
  while (layer.length > 0) {
    const later: typeof layer = []
    for (const { state, from } of layer) {
      const what = wrong(state, bugs)
      if (what !== undefined) return { states: seen.size, found: { what, steps: stepsOf({ state, before: from }) } }
      for (const after of next(state, scripts, bugs)) {
        const key = keyOf(after)
        if (seen.has(key)) continue
        seen.add(key)
        if (seen.size > MOST_STATES) throw new Error('There is no end of states.')
        later.push({ state: after, from: { state, before: from } })
      }
    }
    layer = later
  }
  return { states: seen.size, found: undefined }
}

/** The first scenario that shows a planted bug. */
export function findBug(
  bugs: Mutation,
): { readonly scenario: string; readonly what: string; readonly steps: readonly string[] } | undefined {
  for (const scenario of SCENARIOS) {
    const { found } = explore(scenario, bugs)
    if (found !== undefined) return { scenario: scenario.name, ...found }
  }
  return undefined
}

interface Path {
  readonly state: State
  readonly before: Path | undefined
}

function stepsOf(path: Path): string[] {
  const steps: string[] = []
  for (let at: Path | undefined = path; at !== undefined; at = at.before) {
    const { processes, segments, told, shown } = at.state
    const disk = segments.map(({ lines, synced }) => `${lines.map(({ kind, id }) => id || kind).join(' ')} (${synced} synced)`)
    steps.unshift(
      `${processes.map(({ step, wish }) => `${wish}:${step}`).join(', ')} | ${disk.join(' / ')} | ${JSON.stringify(told)} ${shown}`,
    )
  }
  return steps
}

/** Shorter than JSON, as there are many. */
function keyOf({ segments, processes, told, shown, excused, crashes, faults }: State): string {
  const lines = segments.map(({ first, lines: all, synced, lost, errors, named }) => {
    let text = `${first}`
    for (const one of all) text += `${textOf(one)};`
    return `${text}|${synced}|${lost}|${errors}${named ? 1 : 0}`
  })
  // Who has synced what matters only where a sync may fail, or has.
  const fails = faults > 0 || segments.some(({ errors }) => errors > 0)
  const steps = processes.map((one) =>
    one.step === 'done' || one.step === 'dead'
      ? one.step
      : `${one.step}${one.wish}${one.order}|${one.segment}|${one.end}|${one.tries}|${one.carries}${one.over ? 1 : 0}|${fails ? `${one.seen}|${one.durable}` : ''}`,
  )
  return `${lines.join('/')} ${steps.join('/')} ${Object.entries(told).sort()} ${shown} ${excused} ${crashes}${faults}`
}

/** A line never changes, and is in all states that come later. */
const texts = new WeakMap<Line, string>()

function textOf(line: Line): string {
  const known = texts.get(line)
  if (known !== undefined) return known
  const { kind, id, pos, state, carried, from } = line
  const text = `${kind[0]}${kind[1]}${id}${pos}${from}${state}+${carried}`
  texts.set(line, text)
  return text
}
