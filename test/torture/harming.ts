/** Chooses the sessions that are harmed: such as clients use or have used, and none that was harmed before and that nobody has accepted yet. */
import { existsSync } from 'node:fs'
import { readHarms } from './harm-log.ts'
import type { Harmer, HarmOrder } from './harm-order.ts'
import { readCalls } from './history.ts'
import { generationAt, sessionsOf } from './sessions.ts'

interface HarmingOptions {
  readonly harmer: Harmer
  /** Where harms are written down, and what those who accept them write down. */
  readonly log: string
  readonly keepers: () => readonly { readonly client: string; readonly path: string }[]
  readonly begun: number
}

/** How often a session of the last two generations is chosen. */
const RECENT = 0.8

export class Harming {
  readonly #options: HarmingOptions
  /** A harm that takes a while has begun. */
  readonly #busy = new Set<string>()

  constructor(options: HarmingOptions) {
    this.#options = options
  }

  /** What was done, or undefined if there was nothing to harm. */
  async harm(order: HarmOrder): Promise<string | undefined> {
    const [session, other] = await this.#choose(order)
    if (session === undefined) return undefined
    const chosen = other !== undefined && order.harm === 'swapped' ? [session, other] : [session]
    for (const one of chosen) this.#busy.add(one)
    try {
      return (await this.#options.harmer.harm(session, other, order)) ? `${order.harm}: ${chosen.join(', ')}` : undefined
    } finally {
      for (const one of chosen) this.#busy.delete(one)
    }
  }

  async #choose({ which, harm }: HarmOrder): Promise<string[]> {
    const now = generationAt(this.#options.begun)
    // A copy of a session that nobody writes to is not an older one.
    const isRecent = which < RECENT || harm.startsWith('rolled back')
    const from = isRecent ? Math.max(0, now - 1) : 0
    const part = which < RECENT ? which / RECENT : (which - RECENT) / (1 - RECENT)
    const all = Array.from({ length: now - from + 1 }, (_, i) => sessionsOf(from + i)).flatMap(({ talks, imported }) => [
      ...talks,
      imported,
    ])
    const unsettled = this.#unsettled()
    const free: string[] = []
    for (const session of all) {
      if (!this.#busy.has(session) && !unsettled.has(session) && (await this.#options.harmer.has(session))) free.push(session)
    }
    const at = Math.floor(part * free.length)
    return [...free.slice(at), ...free.slice(0, at)].slice(0, 2)
  }

  /** Sessions with a harm that no keeper has been answered about since. */
  #unsettled(): Set<string> {
    const { log, keepers } = this.#options
    if (!existsSync(log)) return new Set()
    const accepts = keepers().flatMap(({ client, path }) => readCalls(client, path).filter(({ kind }) => kind === 'accept'))
    const open = readHarms(log).harms.filter((harm) => {
      if (harm.kind === 'swapped') return harm.undone === undefined
      return !accepts.some(
        (call) => 'session' in call && call.session === harm.session && call.begun > harm.to && Number.isFinite(call.ended),
      )
    })
    return new Set(open.map(({ session }) => session))
  }
}
