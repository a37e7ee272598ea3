/** The story of a session: its records in order, each with the wish that it fulfils and what a naive session shows after it. */
import type { Counted } from '../../../src/record/fold.ts'
import type { JournalRecord } from '../../../src/record/record.ts'
import { isBackground } from '../../../src/session/apply.ts'
import type { CommitFinished, EntryPut, MessagesAppended, SessionCreated } from '../../../src/session/records.ts'
import { ABSENT_VERSION, versionOf } from '../../../src/session/state.ts'
import type { Finding } from '../check.ts'
import type { StoreFound } from './look.ts'
import { type Archives, Impossible, NaiveSession } from './model.ts'
import type { View, Wish } from './wish.ts'

/** What stands before every line. */
const LEAD_IN = 2

export interface Step {
  readonly counted: Counted
  readonly wish: Wish | undefined
  /** Of the last record of a caller up to here. */
  readonly version: string
  /** Where that record ends: of one that is written twice and lost its first copy, where that one ended too. */
  readonly ends: readonly number[]
  readonly status: NaiveSession['status']
  readonly view: View
  readonly archives: Archives
  /** The messages whose archive has a summary. */
  readonly summarised: ReadonlySet<string>
  /** Position of the record that began this incarnation. */
  readonly born: number
  readonly pathTo: NaiveSession['pathTo']
}

export interface Story {
  readonly steps: readonly Step[]
  readonly findings: readonly Finding[]
}

export class Stories {
  readonly #found: StoreFound
  readonly #wishes: ReadonlyMap<string, Wish>
  readonly #told = new Map<string, Story>()

  constructor(found: StoreFound, wishes: ReadonlyMap<string, Wish>) {
    this.#found = found
    this.#wishes = wishes
  }

  of(id: string): Story {
    const known = this.#told.get(id)
    if (known !== undefined) return known
    // A fork of a fork of itself has none.
    this.#told.set(id, { steps: [], findings: [] })
    const story = this.#tell(id)
    this.#told.set(id, story)
    return story
  }

  #tell(id: string): Story {
    const session = new NaiveSession()
    const steps: Step[] = []
    const findings: Finding[] = []
    let [version, born] = [ABSENT_VERSION, -1]
    let ends: readonly number[] = []
    let fulfilled = new Set<string>()
    for (const counted of this.#found.sessions.get(id)?.counted ?? []) {
      const { record, at } = counted
      const wish = this.#wishes.get(wishOf(record) ?? '')
      const inBackground = isBackground(record.type, record)
      // What stands before is purged: a session of which nothing is left but that.
      if (born === -1 && record.type !== 'session.created') continue
      try {
        if (record.type === 'session.created') {
          born = at
          fulfilled = new Set()
          const { messages, archived } = this.#inherited(id, record, wish)
          session.begin(wish?.name ?? null, messages, archived)
        } else if (record.type === 'commit.finished') session.finish(record as unknown as CommitFinished)
        else if (!inBackground) {
          if (wish === undefined) throw new Impossible(`a ${record.type} that nobody wished`)
          if (fulfilled.has(wish.name)) throw new Impossible(`${wish.name} twice`)
          session.carryOut(wish, counted)
        }
      } catch (error) {
        if (!(error instanceof Impossible)) throw error
        findings.push({ what: 'impossible', detail: `${id} at ${at}: ${error.message}` })
      }
      if (wish !== undefined) fulfilled.add(wish.name)
      if (!inBackground) {
        version = versionOf(counted)
        ends = [counted.end, at - LEAD_IN]
      }
      const { status } = session
      const shown = { view: session.view(), archives: session.archives(), summarised: session.summarised(), pathTo: session.paths() }
      steps.push({ counted, wish, version, ends, status, born, ...shown })
    }
    return { steps, findings }
  }

  /** What a fork begins with, told by what its parent showed when it granted it, or later if the call was repeated. */
  #inherited(id: string, record: JournalRecord, wish: Wish | undefined): { messages: View['messages']; archived: readonly string[] } {
    const { from, past = [], archives = [] } = record as unknown as SessionCreated
    if (from?.kind !== 'fork' || wish?.kind !== 'fork') return { messages: [], archived: [] }
    const parent = this.of(from.session).steps
    const depth = past.at(-1)?.to ?? 0
    // If the last piece is the parent's own, it says how far that reached.
    const end = past.at(-1)?.session === from.session ? past.at(-1)?.end : undefined
    let without: string | undefined
    const granted = parent.filter(({ counted }) => counted.record.type === 'fork.granted' && counted.record.session === id)
    for (const grant of granted) {
      for (const step of parent.slice(parent.indexOf(grant)).filter(({ born }) => born === grant.born)) {
        if (end !== undefined && !step.ends.includes(end)) continue
        const path = wish.at === undefined ? step.view.messages : step.pathTo(wish.at)
        if (path.length !== depth) continue
        // Which archives it has is believed; that they have a summary is not.
        const held = archives.flatMap(({ takes, covers }) => [...takes, ...covers])
        const archived = held.flatMap((stretch) => path.slice(stretch.from, stretch.to).map((message) => message.id))
        // A summary may have been written after the first grant and before the one that this fork was made by.
        without = archived.find((message) => !step.summarised.has(message))
        if (without === undefined) return { messages: path, archived }
      }
    }
    if (without !== undefined) throw new Impossible(`a fork with an archive of ${without}, which had no summary`)
    throw new Impossible(`a fork of ${from.session} with ${depth} messages, which had no such branch or did not grant it`)
  }
}

/** The wish that a record fulfils, by what stands in it. */
export function wishOf(record: JournalRecord): string | undefined {
  if (record.type === 'messages.appended') return ((record as unknown as MessagesAppended).messages[0] as { mark: string }).mark
  if (record.type === 'session.described') return record.title as string
  if (record.type === 'entry.put' && record.key === undefined) return (record as unknown as EntryPut).entries[0]?.value as string
  return typeof record.key === 'string' ? record.key : undefined
}
