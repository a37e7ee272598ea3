/**
 * A session as one would write it without thinking of journals: a tree of messages in a map, a head, a stack, some names. It is told what was
 * wished, in the order in which the records stand, and nothing of positions, depths or runs; so it can be held against what the store shows.
 */
import type { Counted } from '../../../src/record/fold.ts'
import { type CommitFinished, type CommitRequested, messageId } from '../../../src/session/records.ts'
import { byName, type View, type Wish } from './wish.ts'

interface Message {
  readonly id: string
  readonly mark: string
  readonly parent: string | null
  readonly inherited: boolean
}

/** A session's own archives by number: with a summary, and without one. */
export interface Archives {
  readonly completed: readonly number[]
  readonly pending: readonly number[]
}

/** A record that must not stand where it does. */
export class Impossible extends Error {}

export class NaiveSession {
  status: 'absent' | 'live' | 'deleted' = 'absent'
  #messages = new Map<string, Message>()
  #head: string | null = null
  #archived = new Set<string>()
  /** By number, the messages that each archive took, as long as it has no summary. */
  #pending = new Map<number, readonly string[]>()
  #completed = new Set<number>()
  /** Also those that it only covers. */
  #waiting = new Map<number, readonly string[]>()
  #undo: (string | null)[] = []
  #title: string | null = null
  #tags = new Set<string>()
  #snapshots = new Map<string, string | null>()
  #entries = new Map<string, string>()

  /** A new incarnation; a fork begins with messages of its parent, and with archives that hold some of them. */
  begin(title: string | null, inherited: View['messages'] = [], archived: readonly string[] = []): void {
    this.status = 'live'
    this.#messages = new Map()
    this.#head = null
    this.#archived = new Set(archived)
    this.#pending = new Map()
    this.#completed = new Set()
    this.#waiting = new Map()
    this.#undo = []
    this.#title = title
    this.#tags = new Set()
    this.#snapshots = new Map()
    this.#entries = new Map()
    for (const { id, mark } of inherited) this.#add(id, mark, true)
  }

  carryOut(wish: Wish, { record }: Counted): void {
    if (wish.kind === 'restore') {
      if (this.status !== 'deleted') throw new Impossible('restored, but not deleted')
      this.status = 'live'
      return
    }
    if (this.status !== 'live') throw new Impossible(`${wish.kind} on a session that is ${this.status}`)
    switch (wish.kind) {
      case 'append':
        if (wish.parent !== undefined) this.#move(wish.parent)
        for (let i = 0; i < wish.count; i++) this.#add(messageId(record.id, wish.ids, i), wish.name)
        break
      case 'describe':
        this.#title = wish.name
        for (const tag of wish.removeTags) this.#tags.delete(tag)
        for (const tag of wish.addTags) this.#tags.add(tag)
        break
      case 'snapshot':
        this.#snapshots.set(wish.snapshot, wish.at === undefined ? this.#head : this.#known(wish.at))
        break
      case 'revert':
        this.#move(wish.target)
        break
      case 'undo': {
        const to = this.#undo.pop()
        if (to === undefined) throw new Impossible('undone, but never moved')
        this.#head = to
        break
      }
      case 'entries':
        if (wish.removes) this.#entries.delete(wish.entry)
        else this.#entries.set(wish.entry, wish.name)
        break
      case 'commit':
        this.#commit(wish.keep, record as unknown as CommitRequested)
        break
      case 'delete':
        this.status = 'deleted'
        break
      default:
        throw new Impossible(`a record of a ${wish.kind}`)
    }
  }

  /** The summary of an archive: there is one, of a live session, and it draws from what the archive took and from nothing else. */
  finish({ archive, memories }: CommitFinished): void {
    const taken = this.#pending.get(archive)
    if (this.status !== 'live') throw new Impossible(`archive ${archive} was summarised in a session that is ${this.status}`)
    if (taken === undefined) throw new Impossible(`archive ${archive} was summarised twice, or never asked for`)
    const drawn = memories.flatMap(({ sources }) => sources)
    if (drawn.toSorted().join() !== taken.toSorted().join())
      throw new Impossible(`archive ${archive} took ${taken.join()}, and memories come from ${drawn.join()}`)
    this.#pending.delete(archive)
    this.#waiting.delete(archive)
    this.#completed.add(archive)
  }

  /** What has a summary: of the messages that are archived, those of no archive that still waits for one. */
  summarised(): ReadonlySet<string> {
    return new Set([...this.#archived].filter((id) => ![...this.#waiting.values()].some((ids) => ids.includes(id))))
  }

  archives(): Archives {
    return { completed: [...this.#completed].sort((a, b) => a - b), pending: [...this.#pending.keys()].sort((a, b) => a - b) }
  }

  view(): View {
    const messages = this.pathTo(this.#head)
    const live = messages.map(({ id }) => id).filter((id) => !this.#archived.has(id))
    return {
      messages,
      live,
      messageCount: live.length,
      title: this.#title,
      tags: [...this.#tags].sort(),
      snapshots: [...this.#snapshots].map(([name, id]) => [name, this.pathTo(id).length] as const).sort(byName),
      entries: [...this.#entries].sort(byName),
      canUndo: this.#undo.length > 0,
    }
  }

  pathTo(id: string | null): View['messages'] {
    return this.paths()(id)
  }

  /** Tells the way from the first message to another, also after a new incarnation began. */
  paths(): (id: string | null) => View['messages'] {
    const messages = this.#messages
    return (id) => {
      const path: { id: string; mark: string }[] = []
      for (let message = messages.get(id ?? ''); message !== undefined; message = messages.get(message.parent ?? ''))
        path.unshift({ id: message.id, mark: message.mark })
      return path
    }
  }

  /** What the record says of how far it goes is believed, since others may have appended meanwhile; what it takes is not. */
  #commit(keep: number, { archive, takes, covers }: CommitRequested): void {
    const path = this.pathTo(this.#head).map(({ id }) => id)
    const depth = Math.max(...[...takes, ...covers].map(({ to }) => to))
    const taken = path.slice(0, depth).filter((id) => !this.#archived.has(id))
    const own = taken.filter((id) => this.#messages.get(id)?.inherited === false)
    if (taken.length === 0) throw new Impossible('a commit of nothing')
    if (path.length - depth < keep) throw new Impossible(`a commit up to message ${depth} of ${path.length} that was to keep ${keep}`)
    const said = takes.reduce((sum, { from, to }) => sum + to - from, 0)
    if (said !== own.length) throw new Impossible(`a commit that takes ${said} messages instead of ${own.length}`)
    for (const id of taken) this.#archived.add(id)
    this.#pending.set(archive, own)
    this.#waiting.set(archive, taken)
  }

  #add(id: string, mark: string, inherited = false): void {
    if (this.#messages.has(id)) throw new Impossible(`the message ${id} twice`)
    this.#messages.set(id, { id, mark, parent: this.#head, inherited })
    this.#head = id
  }

  #move(target: string): void {
    const to = this.#messages.has(target) ? target : this.#snapshots.get(target)
    if (to === undefined) throw new Impossible(`moved to ${target}, which is not there`)
    if (to === this.#head) return
    this.#undo.push(this.#head)
    this.#head = to
  }

  #known(id: string): string {
    if (!this.#messages.has(id)) throw new Impossible(`the message ${id} is not there`)
    return id
  }
}
