/** Somebody who does harm to the files of a store while processes use them. */
import type { SimulatedFile } from '../file.ts'
import type { Random } from '../random.ts'
import type { Tamperer } from '../tamper.ts'
import type { Ledger } from './ledger.ts'
import type { Harm, HarmPlan } from './plan.ts'

export class Hand {
  readonly #random: Random
  readonly #plan: HarmPlan
  readonly #tamperer: Tamperer
  readonly #ledger: Ledger
  readonly #root: string
  readonly #note: (text: () => string) => void
  /** Older contents of journal files, by path. */
  readonly #older: { readonly path: string; readonly content: Buffer }[] = []
  /** What swaps must be undone, in the end: nobody can accept them. */
  #swapped: (readonly [string, string])[] = []
  #backups = 0
  harms = 0

  constructor(random: Random, plan: HarmPlan, tamperer: Tamperer, ledger: Ledger, root: string, note: (text: () => string) => void) {
    this.#random = random
    this.#plan = plan
    this.#tamperer = tamperer
    this.#ledger = ledger
    this.#root = root
    this.#note = note
  }

  /** Something may be done now. */
  tick(): void {
    const random = this.#random
    if (this.harms >= this.#plan.harms) return
    if (this.#plan.kinds.includes('roll back') && random.chance(0.02)) this.#keepOlder()
    if (random.chance(this.#plan.chance)) this.#harm(random.pick(this.#plan.kinds))
  }

  /** Puts back what was swapped. */
  unswap(): void {
    for (const [one, other] of this.#swapped.reverse()) {
      if (this.#tamperer.file(one) === undefined || this.#tamperer.file(other) === undefined) continue
      this.#ledger.tamper(() => this.#tamperer.swap(one, other))
    }
    this.#swapped = []
  }

  /** Another store is in place: what was done to the one before means nothing. */
  forget(): void {
    this.#swapped = []
    this.#older.length = 0
  }

  #harm(kind: Harm): void {
    const done = kind === 'watermarks' ? this.#harmWatermarks() : this.#harmJournal(kind)
    if (done === undefined) return
    this.harms++
    this.#note(() => `harm: ${kind} ${done}`)
  }

  #harmWatermarks(): string | undefined {
    const files = [...this.#tamperer.files(`${this.#root}/watermarks`)]
    if (files.length === 0) return undefined
    const [path, { size }] = this.#random.pick(files)
    this.#ledger.tamper(
      () => (this.#random.chance(0.5) ? this.#tamperer.remove(path) : this.#tamperer.cut(path, this.#random.int(size + 1))),
      'watermarks',
    )
    return path
  }

  #harmJournal(kind: Harm): string | undefined {
    const journal = this.#random.pick(this.#ledger.journals)
    if (this.#plan.patient && !this.#ledger.isMarked(journal)) return undefined
    const files = [...this.#tamperer.files(journal.directory)]
      .filter(([path]) => path.endsWith('.jsonl'))
      .sort(([a], [b]) => (a < b ? -1 : 1))
    const last = files.at(-1)
    if (last === undefined || last[1].size === 0) return undefined
    const target = kind === 'behead' ? files[0] : kind === 'blind' ? last : this.#random.chance(0.85) ? last : this.#random.pick(files)
    const [path, file] = target as [string, SimulatedFile]
    const change = this.#changeFor(kind, path, file, files.length)
    if (change === undefined) return undefined
    this.#ledger.tamper(change)
    return path
  }

  #changeFor(kind: Harm, path: string, file: SimulatedFile, files: number): (() => void) | undefined {
    const tamperer = this.#tamperer
    const content = file.read(0, file.size)
    switch (kind) {
      case 'cut': {
        const size = this.#sizeToCutTo(content)
        return () => tamperer.cut(path, size)
      }
      case 'regrow': {
        const size = this.#sizeToCutTo(content)
        const more = `${'x'.repeat(content.length - size + this.#random.int(300))}\n`
        return () => tamperer.rewrite(path, Buffer.concat([content.subarray(0, size), Buffer.from(more)]))
      }
      case 'delete':
        return () => tamperer.remove(path)
      case 'delete directory':
        return () => tamperer.removeDirectory(path.slice(0, path.lastIndexOf('/')))
      case 'behead':
        return files < 2 ? undefined : () => tamperer.remove(path)
      case 'blind':
        return files < 2 ? undefined : this.#blind(path, content)
      case 'swap':
        return this.#swap(path)
      case 'roll back':
        return this.#rollBack(path, content)
      case 'replace':
        return () => tamperer.put(path, content)
      case 'linked':
        return this.#linked(path, content)
      case 'watermarks':
        return undefined
    }
  }

  #blind(path: string, content: Buffer): () => void {
    const directory = path.slice(0, path.lastIndexOf('/'))
    const others = [...this.#tamperer.files(directory).keys()].filter((other) => other.endsWith('.jsonl') && other !== path)
    const rotten = Buffer.from(content)
    const at = rotten.indexOf('"base"')
    return () => {
      for (const other of others) this.#tamperer.remove(other)
      if (at !== -1) this.#tamperer.rewrite(path, rotten.fill('x', at, at + 1))
    }
  }

  #swap(path: string): (() => void) | undefined {
    const others = this.#ledger.journals.map(({ directory }) => directory).filter((directory) => !path.startsWith(`${directory}/`))
    const files = others.flatMap((directory) =>
      [...this.#tamperer.files(directory).keys()].filter((other) => other.endsWith('.jsonl')).sort(),
    )
    const other = files.at(-1)
    if (other === undefined) return undefined
    return () => {
      this.#swapped.push([path, other])
      this.#tamperer.swap(path, other)
    }
  }

  #rollBack(path: string, content: Buffer): (() => void) | undefined {
    const older = this.#older.filter((one) => one.path === path && one.content.length < content.length)
    if (older.length === 0) return undefined
    const before = this.#random.pick(older).content
    return this.#random.chance(0.5) ? () => this.#tamperer.rewrite(path, before) : () => this.#tamperer.put(path, before)
  }

  #linked(path: string, content: Buffer): () => void {
    const backup = `/backup/${this.#backups++}`
    const [replaces, cuts] = [this.#random.chance(0.5), this.#random.chance(0.5)]
    const size = cuts ? this.#sizeToCutTo(content) : content.length
    return () => {
      this.#tamperer.link(path, backup)
      if (replaces) this.#tamperer.put(path, content.subarray(0, size))
      else this.#tamperer.remove(path)
    }
  }

  /** To nothing, to half, to the end of a line, inside of a line, short of one byte. */
  #sizeToCutTo(content: Buffer): number {
    const random = this.#random
    const somewhere = random.int(content.length)
    const line = content.lastIndexOf(10, Math.max(0, content.length - 2))
    return random.pick([
      0,
      Math.floor(content.length / 2),
      content.indexOf(10, somewhere) + 1,
      somewhere,
      content.length - 1,
      line + 1,
      line + 1,
    ])
  }

  #keepOlder(): void {
    for (const { directory } of this.#ledger.journals) {
      for (const [path, file] of this.#tamperer.files(directory)) {
        if (path.endsWith('.jsonl')) this.#older.push({ path, content: file.read(0, file.size) })
      }
    }
    if (this.#older.length > 30) this.#older.splice(0, this.#older.length - 30)
  }
}
