/** What clients of several servers did and saw, and whether one history explains all of it. */

export interface Read {
  readonly client: number
  readonly session: string
  /** Ids of all messages, archived ones included, in order. */
  readonly ids: readonly string[]
}

export class History {
  /** Ids of acknowledged messages by session, in the order in which each client was answered. */
  readonly #acknowledged = new Map<string, { readonly client: number; readonly id: string }[]>()
  readonly #reads: Read[] = []

  acknowledge(client: number, session: string, id: string): void {
    const known = this.#acknowledged.get(session) ?? []
    known.push({ client, id })
    this.#acknowledged.set(session, known)
  }

  get acknowledged(): number {
    return [...this.#acknowledged.values()].reduce((sum, ids) => sum + ids.length, 0)
  }

  get reads(): number {
    return this.#reads.length
  }

  see(read: Read): void {
    this.#reads.push(read)
  }

  /** What is wrong, one sentence for each thing. `last`: what every session holds at the end. */
  check(last: ReadonlyMap<string, readonly string[]>): string[] {
    const wrong: string[] = []
    for (const [session, ids] of last) {
      if (new Set(ids).size !== ids.length) wrong.push(`${session} holds a message twice`)
      const acknowledged = this.#acknowledged.get(session) ?? []
      const places = new Map(ids.map((id, place) => [id, place]))
      for (const { id } of acknowledged) if (!places.has(id)) wrong.push(`${session} lost ${id}, which was acknowledged`)
      for (const client of new Set(acknowledged.map((one) => one.client))) {
        const own = acknowledged.filter((one) => one.client === client).map(({ id }) => places.get(id) ?? -1)
        if (own.some((place, i) => i > 0 && place <= (own[i - 1] as number)))
          wrong.push(`${session} has client ${client}'s messages in another order`)
      }
      wrong.push(...this.#checkReads(session, ids))
    }
    return wrong
  }

  /** Every read must be a beginning of the one order, and none shorter than what its client saw before. */
  #checkReads(session: string, ids: readonly string[]): string[] {
    const wrong: string[] = []
    const seen = new Map<number, number>()
    for (const read of this.#reads.filter((one) => one.session === session)) {
      if (read.ids.some((id, place) => ids[place] !== id)) wrong.push(`client ${read.client} saw ${session} in another order`)
      if (read.ids.length < (seen.get(read.client) ?? 0)) wrong.push(`client ${read.client} saw ${session} go back`)
      seen.set(read.client, read.ids.length)
    }
    return wrong
  }
}
