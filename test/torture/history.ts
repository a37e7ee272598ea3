/**
 * What clients asked of a store and what they were told: calls with the times of their making and of their answer, on a clock that all processes of
 * the machine share. A client writes two lines for each call, one before it is made and one when it is answered, each in one synchronous write: one
 * that is killed takes nothing with it that it had been told, and whoever takes its place knows what it had wanted.
 *
 * Messages are known by a tag, which their content begins with: their ids may be the store's.
 */
import { createHash, type Hash } from 'node:crypto'
import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { Flip } from './flips.ts'
import type { Harm, Strike } from './harms.ts'

/** Of a condition: the version that the session must still have, and the last message that was seen under it. */
export interface Expectation {
  readonly version: string
  readonly last: string | null
  /** Looking at them was begun, and done. */
  readonly from: number
  readonly to: number
}

export type Wish =
  | { readonly kind: 'append'; readonly session: string; readonly tags: readonly string[]; readonly expect?: Expectation }
  | { readonly kind: 'describe'; readonly session: string; readonly title: string }
  | { readonly kind: 'commit'; readonly session: string; readonly keep: number }
  | { readonly kind: 'delete'; readonly session: string }
  /** Whatever is deleted by then. */
  | { readonly kind: 'purge' }
  | { readonly kind: 'fork'; readonly session: string; readonly child: string }
  | { readonly kind: 'import'; readonly session: string; readonly tags: readonly string[] }
  | { readonly kind: 'read'; readonly session: string }
  /** The last sessions, or all of them. */
  | { readonly kind: 'list'; readonly whole?: true }
  | { readonly kind: 'search'; readonly session: string; readonly tag: string }
  | { readonly kind: 'doctor' }
  /** Lets a session continue without what a harm took. */
  | { readonly kind: 'accept'; readonly session: string }
  /** Copies the whole store while it is in use, and verifies the copy. */
  | { readonly kind: 'copy' }
  /** Deletes a session, purges it and creates it again. */
  | { readonly kind: 'recreate'; readonly session: string }

/** How far a client has seen a session: so many messages, and a digest of their tags, in order. */
export interface Extent {
  readonly session: string
  readonly count: number
  /** Empty where only their number was told. */
  readonly digest: string
  readonly title: string | null
  /** How many places were reported as damaged that nobody has accepted, and that somebody has. */
  readonly damaged?: number
  readonly accepted?: number
}

/** Something that the doctor calls damage. */
export interface Found {
  readonly session: string
  readonly what: string
}

export interface Answer {
  /** `refused`: it did not happen, and never will. `unknown`: nobody can tell. */
  readonly told: 'ok' | 'refused' | 'unknown'
  /** Of a refusal. */
  readonly code?: string
  /** When the attempt was made that this answers; a call may be repeated many times. */
  readonly asked?: number
  /** Of a commit: the number of its archive, unless there was nothing to archive. */
  readonly archive?: number
  /** Of whatever looks. */
  readonly seen?: readonly Extent[]
  /** Of a list of all sessions: their ids. */
  readonly listed?: readonly string[]
  /** Of a search: how many hits there were. */
  readonly hits?: number
  /** Of the doctor, and of a copy. */
  readonly damage?: readonly Found[]
  /** Of an acceptance: how many gaps were accepted in this session so far. */
  readonly gaps?: number
}

export type Call = Wish & Answer & { readonly client: string; readonly number: number; readonly begun: number; readonly ended: number }

/** What a follower was shown, in order, across all of its lives. */
interface Followed {
  readonly client: string
  readonly session: string
  readonly tags: readonly string[]
  /** How often it had to begin again, because what it had been shown last was no longer there. */
  readonly resets?: number
}

/** A process that ended although its driver had neither killed it nor asked it to end. */
export interface End {
  readonly place: string
  readonly code: number | null
  readonly signal: string | null
  readonly complaint: string
  /** It was refused the store when it started, and may be started again. */
  readonly isRefused: boolean
  readonly from: number
  readonly to: number
}

export interface History {
  readonly calls: readonly Call[]
  readonly followed: readonly Followed[]
  /** What was done to the bytes of the store on purpose. */
  readonly harms: readonly Harm[]
  /** What was done to its processes. */
  readonly strikes: readonly Strike[]
  /** What was done to derived files of the store. */
  readonly flips: readonly Flip[]
  readonly ends: readonly End[]
  /** Names that processes created where the store was not mounted. */
  readonly stray: readonly string[]
}

/** A history in which nothing happened. */
export const NOTHING: History = { calls: [], followed: [], harms: [], strikes: [], flips: [], ends: [], stray: [] }

type Line =
  | { readonly call: number; readonly at: number; readonly wish: Wish }
  | { readonly answer: number; readonly at: number; readonly told: Answer }
  | { readonly shown: string; readonly tags: readonly string[]; readonly cursor: string }
  | { readonly reset: string; readonly cursor: string }

/** Microseconds. No jump of a wall clock moves it. */
export function nowUs(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

/** What one client writes. A new life of it goes on where the last one ended. */
export class HistoryFile {
  readonly #fd: number
  readonly #calls: readonly Call[]
  /** Where each session was followed to, and what was shown on the way. */
  readonly cursors = new Map<string, string>()
  readonly #shown = new Map<string, Map<string, readonly string[]>>()
  readonly #resets = new Set<string>()
  #next: number

  constructor(path: string, client: string) {
    const lines = existsSync(path) ? linesOf(path) : []
    this.#calls = callsOf(client, lines)
    for (const line of lines) if ('shown' in line || 'reset' in line) this.#note(line)
    this.#next = this.#calls.length
    this.#fd = openSync(path, 'a')
    // The last life may have ended in the middle of a line.
    if (lines.length > 0) writeSync(this.#fd, '\n')
  }

  /** Calls that nobody has answered: their outcome is open. */
  get open(): readonly Call[] {
    return this.#calls.filter(({ ended }) => ended === Number.POSITIVE_INFINITY)
  }

  get calls(): number {
    return this.#next
  }

  /** What earlier lives were told. */
  get earlier(): readonly Call[] {
    return this.#calls
  }

  shownOf(session: string): string[] {
    return [...(this.#shown.get(session)?.values() ?? [])].flat()
  }

  wasReset(session: string): boolean {
    return this.#resets.has(session)
  }

  begin(wish: Wish): number {
    this.#add({ call: this.#next, at: nowUs(), wish })
    return this.#next++
  }

  end(number: number, told: Answer): void {
    this.#add({ answer: number, at: nowUs(), told })
  }

  /** After a reset, a follower is shown some changes again: those count once. */
  show(session: string, tags: readonly string[], cursor: string): void {
    const isKnown = this.#shown.get(session)?.has(cursor) === true && this.#resets.has(session)
    const line = { shown: session, tags: isKnown ? [] : tags, cursor }
    this.#add(line)
    if (isKnown) this.cursors.set(session, cursor)
    else this.#note(line)
  }

  reset(session: string, cursor: string): void {
    const line = { reset: session, cursor }
    this.#add(line)
    this.#note(line)
  }

  close(): void {
    closeSync(this.#fd)
  }

  #note(line: Extract<Line, { cursor: string }>): void {
    if ('reset' in line) {
      this.cursors.set(line.reset, line.cursor)
      this.#resets.add(line.reset)
      return
    }
    const shown = this.#shown.get(line.shown) ?? new Map<string, readonly string[]>()
    // Twice without a reset is for the rules to judge.
    const key = shown.has(line.cursor) && line.tags.length > 0 ? `${line.cursor}+${shown.size}` : line.cursor
    if (!shown.has(key)) shown.set(key, line.tags)
    this.#shown.set(line.shown, shown)
    this.cursors.set(line.shown, line.cursor)
  }

  #add(line: Line): void {
    writeSync(this.#fd, `${JSON.stringify(line)}\n`)
  }
}

/** Calls that somebody else wrote down so far. */
export function readCalls(client: string, path: string): Call[] {
  return existsSync(path) ? callsOf(client, linesOf(path)) : []
}

export function readHistory(files: readonly { readonly client: string; readonly path: string }[]): Pick<History, 'calls' | 'followed'> {
  const calls: Call[] = []
  const followed: Followed[] = []
  for (const { client, path } of files) {
    if (!existsSync(path)) continue
    const lines = linesOf(path)
    calls.push(...callsOf(client, lines))
    const shown = new Map<string, string[]>()
    for (const line of lines) if ('shown' in line) shown.set(line.shown, [...(shown.get(line.shown) ?? []), ...line.tags])
    const resets = lines.flatMap((line) => ('reset' in line ? [line.reset] : []))
    for (const [session, tags] of shown) followed.push({ client, session, tags, resets: resets.filter((one) => one === session).length })
  }
  return { calls: calls.sort((a, b) => a.begun - b.begun), followed }
}

function callsOf(client: string, lines: readonly Line[]): Call[] {
  const calls = new Map<number, Call>()
  for (const line of lines) {
    if ('call' in line) {
      calls.set(line.call, { ...line.wish, client, number: line.call, begun: line.at, ended: Number.POSITIVE_INFINITY, told: 'unknown' })
    } else if ('answer' in line) {
      const call = calls.get(line.answer)
      if (call !== undefined) calls.set(line.answer, { ...call, ...line.told, ended: line.at })
    }
  }
  return [...calls.values()]
}

function linesOf(path: string): Line[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((text) => {
      if (text === '') return []
      try {
        return [JSON.parse(text) as Line]
      } catch {
        // Its writer was killed in the middle of it: nobody was told anything that stands there.
        return []
      }
    })
}

export function digestOf(tags: readonly string[]): string {
  const hash = createHash('sha1')
  for (const tag of tags) addTag(hash, tag)
  return hash.digest('base64')
}

/** Of every beginning of a list of tags, the empty one first. */
export function digestsOf(tags: readonly string[]): string[] {
  const hash = createHash('sha1')
  return [hash.copy().digest('base64'), ...tags.map((tag) => addTag(hash, tag).copy().digest('base64'))]
}

function addTag(hash: Hash, tag: string): Hash {
  return hash.update(`${tag}\n`)
}
