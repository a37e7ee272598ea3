/** Harm to the files of a session, while processes use them: what a person, a sync program or a failing disk could do. */
import { appendFileSync, copyFileSync, existsSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { journalName } from '../../src/engine/names.ts'
import type { HarmLog } from './harm-log.ts'
import { type Harmer, type HarmOrder, harmOf } from './harm-order.ts'
import type { HarmKind } from './harms.ts'
import { nowUs } from './history.ts'
import { type RecordLine, recordsIn, segmentsIn } from './journal-lines.ts'

const FILE_HARMS: readonly HarmKind[] = [
  'cut to zero',
  'cut to half',
  'cut at a line',
  'segment deleted',
  'directory deleted',
  'swapped',
  'rolled back in place',
  'rolled back by rename',
]

/** How often a session is harmed in one of its earlier segments, if it has some. */
const EARLIER = 0.25
const NEWLINE = 0x0a

export class FileHarm implements Harmer {
  readonly kinds = FILE_HARMS
  isSwapped = false
  readonly #store: string
  readonly #aside: string
  readonly #log: HarmLog
  readonly #syncs: string

  constructor({
    store,
    aside,
    syncs,
    log,
  }: { readonly store: string; readonly aside: string; readonly syncs: string; readonly log: HarmLog }) {
    this.#store = store
    this.#syncs = syncs
    this.#aside = aside
    this.#log = log
  }

  has(session: string): Promise<boolean> {
    return Promise.resolve(recordsIn(this.#folder(session)).length > 0)
  }

  async harm(session: string, other: string | undefined, order: HarmOrder): Promise<boolean> {
    if (order.harm === 'swapped') return other !== undefined && this.#swap(session, other, order)
    const path = this.#segment(session, order.where)
    if (path === undefined) return false
    if (order.harm === 'rolled back in place' || order.harm === 'rolled back by rename') return this.#rollBack(session, path, order)
    this.#do(session, order.harm, () => spoil(path, this.#folder(session), order))
    return true
  }

  #folder(session: string): string {
    return join(this.#store, 'sessions', journalName('default', session))
  }

  /** The last one as a rule. */
  #segment(session: string, where: number): string | undefined {
    const files = segmentsIn(this.#folder(session))
    const file = where < EARLIER ? files[Math.floor((where / EARLIER) * files.length)] : files.at(-1)
    return file === undefined ? undefined : join(this.#folder(session), file)
  }

  /** Writes down what a session holds, does the harm, and writes down what it took. */
  #do(session: string, kind: HarmKind, work: () => void): void {
    const from = nowUs()
    const before = recordsIn(this.#folder(session))
    work()
    const to = nowUs()
    this.#log.harm(harmOf(kind, session, { from, to }, before, leftIn(this.#folder(session))))
  }

  async #rollBack(session: string, path: string, { harm, forMs }: HarmOrder): Promise<boolean> {
    const copy = `${this.#aside}.${nowUs()}`
    copyFileSync(path, copy)
    await sleep(forMs)
    if (!existsSync(path)) return false
    this.#do(session, harm, () => {
      if (harm === 'rolled back by rename') this.#replace(path, copy)
      else writeFileSync(path, readFileSync(copy))
    })
    rmSync(copy, { force: true })
    return true
  }

  /** A power cut must not take what was not synced by those who never heard of it. */
  #replace(path: string, copy: string): void {
    const { ino, birthtimeNs, size } = statSync(copy, { bigint: true })
    appendFileSync(this.#syncs, `F ${ino} ${birthtimeNs} ${size}\n`)
    renameSync(copy, path)
  }

  async #swap(one: string, other: string, { forMs }: HarmOrder): Promise<boolean> {
    const [a, b] = [this.#folder(one), this.#folder(other)]
    if (!existsSync(a) || !existsSync(b)) return false
    const from = nowUs()
    const before = [one, other].map((session) => recordsIn(this.#folder(session)))
    this.isSwapped = true
    exchange(a, b)
    const to = nowUs()
    const numbers = [one, other].map((session, i) => {
      const records = before[i] as RecordLine[]
      return this.#log.harm({ ...harmOf('swapped', session, { from, to }, records, { records, start: 0 }), isTail: true })
    })
    await sleep(forMs)
    const since = nowUs()
    exchange(a, b)
    this.isSwapped = false
    for (const number of numbers) this.#log.undo(number, since, nowUs())
    return true
  }
}

function leftIn(folder: string): { readonly records: readonly RecordLine[]; readonly start: number } {
  return { records: recordsIn(folder), start: Number(segmentsIn(folder).at(-1)?.slice(0, -6) ?? 0) }
}

function exchange(a: string, b: string): void {
  const aside = `${a}.aside`
  renameSync(a, aside)
  renameSync(b, a)
  renameSync(aside, b)
}

function spoil(path: string, folder: string, { harm, how }: HarmOrder): void {
  if (harm === 'cut to zero') truncateSync(path, 0)
  else if (harm === 'cut to half') truncateSync(path, Math.floor(statSync(path).size / 2))
  else if (harm === 'cut at a line') truncateSync(path, lineEnd(readFileSync(path), how))
  else if (harm === 'segment deleted') rmSync(path, { force: true })
  else rmSync(folder, { recursive: true, force: true })
}

/** The end of a line somewhere in a file; not of its last one. */
function lineEnd(bytes: Buffer, how: number): number {
  const end = bytes.lastIndexOf(NEWLINE, bytes.length - 2)
  return end <= 0 ? 0 : bytes.lastIndexOf(NEWLINE, Math.floor(how * end)) + 1
}
