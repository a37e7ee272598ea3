/** Somebody who copies a store file by file while it is used, as `cp -r` does, and may put a copy in the place of the store. */
import type { Random } from '../random.ts'
import type { Tamperer } from '../tamper.ts'
import type { HarmPlan } from './plan.ts'

interface CopiedFile {
  /** Below the store. */
  readonly path: string
  readonly content: Buffer
  /** Of the file that was copied. */
  readonly inode: number
}

export interface FinishedCopy {
  readonly directory: string
  readonly files: readonly CopiedFile[]
}

export class Copier {
  readonly #random: Random
  readonly #tamperer: Tamperer
  readonly #root: string
  readonly #plan: Pick<HarmPlan, 'copies' | 'copyChance' | 'journalsFirst'>
  #begun = 0
  #waiting: string[] | undefined
  #copied: CopiedFile[] = []
  /** Copies that can be opened. */
  readonly finished: FinishedCopy[] = []

  constructor(random: Random, tamperer: Tamperer, root: string, plan: Pick<HarmPlan, 'copies' | 'copyChance' | 'journalsFirst'>) {
    this.#random = random
    this.#tamperer = tamperer
    this.#root = root
    this.#plan = plan
  }

  /** Copies one more file, or begins another copy. Returns a copy that is finished now. */
  tick(): FinishedCopy | undefined {
    if (this.#waiting === undefined) {
      if (this.#begun < this.#plan.copies && this.#random.chance(0.003)) this.#begin()
      return undefined
    }
    if (!this.#random.chance(this.#plan.copyChance)) return undefined
    const path = this.#waiting.shift()
    if (path === undefined) return this.#finish()
    const file = this.#tamperer.file(path)
    // The copy would fail with an error: nobody opens it.
    if (file === undefined) this.#waiting = undefined
    else this.#copied.push({ path: path.slice(this.#root.length), content: file.read(0, file.size), inode: file.inode })
    return undefined
  }

  /** Puts a copy in the place of the store. Most of its files get the inodes back that the store's had. */
  restore({ files }: FinishedCopy): void {
    this.#waiting = undefined
    this.#tamperer.removeDirectory(this.#root)
    const used = new Set([...this.#tamperer.files('').values()].map(({ inode }) => inode))
    for (const { path, content, inode } of files) {
      const returns = !used.has(inode) && this.#random.chance(0.8)
      this.#tamperer.put(`${this.#root}${path}`, content, returns ? inode : undefined)
      used.add(inode)
    }
  }

  /** A directory is listed before its files are copied: what is created later is not in the copy. */
  #begin(): void {
    this.#begun++
    this.#copied = []
    const files = [...this.#tamperer.files(this.#root).keys()].sort()
    const first = this.#plan.journalsFirst ? '/sessions/' : '/watermarks/'
    this.#waiting = [...files.filter((path) => path.includes(first)), ...files.filter((path) => !path.includes(first))]
  }

  #finish(): FinishedCopy {
    this.#waiting = undefined
    const directory = `/copy${this.#begun}`
    for (const { path, content } of this.#copied) this.#tamperer.put(`${directory}${path}`, content)
    const copy = { directory, files: this.#copied }
    this.finished.push(copy)
    return copy
  }
}
