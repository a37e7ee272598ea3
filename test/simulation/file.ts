/**
 * A simulated file: what everybody reads (the cache) and what is on the platter (durable). They differ page by page.
 *
 *     clean --append--> dirty --flush--> clean            the cache and the platter agree
 *                       dirty --failed sync--> lost       readable, but the kernel believes it was written
 *                       lost  --append to it--> dirty     the whole page is written again
 *
 * Its size is durable separately, and never exceeds the cached one: the port has no truncation, and what another program does to a file
 * (`cut`, `rewrite`) is durable at once.
 */
import type { SimulatedDirectory } from './directory.ts'
import type { Random } from './random.ts'

/** An open handle, as far as a file is concerned. */
export interface Handle {
  /** A write-back has failed since the handle was opened, and it has not been told yet. */
  errorPending: boolean
}

export class SimulatedFile {
  links = 0
  readonly inode: number
  /** When it was created; 0 on a file system that does not record it. */
  readonly createdMs: number
  parent: SimulatedDirectory | undefined
  readonly handles = new Set<Handle>()
  readonly #pageBytes: number
  #size = 0
  #durableSize = 0
  /** Both are of the same length, and zero where nothing was written. */
  #cache: Buffer = Buffer.alloc(0)
  #durable: Buffer = Buffer.alloc(0)
  /** Grows with each change of the content that a program makes. */
  changes = 0
  /** Grows with each change of what is on the platter. */
  writeBacks = 0
  readonly #dirty = new Set<number>()
  readonly #lost = new Set<number>()

  constructor(pageBytes: number, inode = 1, createdMs = inode) {
    this.#pageBytes = pageBytes
    this.inode = inode
    this.createdMs = createdMs
  }

  get size(): number {
    return this.#size
  }

  /** Whether the kernel would have something to write. Lost pages do not count: that is what makes them lost. */
  get dirty(): boolean {
    return this.#dirty.size > 0
  }

  append(bytes: Uint8Array): void {
    this.changes++
    if (bytes.length === 0) return
    const end = this.#size + bytes.length
    if (end > this.#cache.length) {
      const length = Math.max(end, this.#cache.length * 2, 1024)
      this.#cache = enlarged(this.#cache, length)
      this.#durable = enlarged(this.#durable, length)
    }
    this.#cache.set(bytes, this.#size)
    const last = Math.floor((end - 1) / this.#pageBytes)
    for (let page = Math.floor(this.#size / this.#pageBytes); page <= last; page += 1) {
      this.#dirty.add(page)
      this.#lost.delete(page)
    }
    this.#size = end
  }

  /** Only where there is something. */
  overwrite(offset: number, bytes: Uint8Array): void {
    this.changes++
    const end = Math.min(offset + bytes.length, this.#size)
    if (end <= offset) return
    this.#cache.set(bytes.subarray(0, end - offset), offset)
    for (let page = Math.floor(offset / this.#pageBytes); page <= Math.floor((end - 1) / this.#pageBytes); page += 1) {
      this.#dirty.add(page)
      this.#lost.delete(page)
    }
  }

  /** Another program cuts the file. */
  cut(size: number): void {
    this.changes++
    if (size >= this.#size) return
    this.#size = size
    this.#durableSize = Math.min(this.#durableSize, size)
    this.#cache.fill(0, size)
    this.#durable.fill(0, size)
    const last = Math.floor((size - 1) / this.#pageBytes)
    for (const pages of [this.#dirty, this.#lost]) for (const page of pages) if (page > last) pages.delete(page)
  }

  /** Another program writes the file from its beginning. */
  rewrite(content: Uint8Array): void {
    this.changes++
    this.#cache = Buffer.from(content)
    this.#durable = Buffer.from(content)
    this.#size = content.length
    this.#durableSize = content.length
    this.#dirty.clear()
    this.#lost.clear()
  }

  /** What would be left if the power failed now and the disk had written nothing more. */
  get durable(): Buffer {
    return Buffer.from(this.#durable.subarray(0, this.#durableSize))
  }

  /** A copy: what is read must not change when the file does. */
  read(offset: number, length: number): Buffer {
    return Buffer.from(this.#cache.subarray(Math.min(offset, this.#size), Math.min(offset + length, this.#size)))
  }

  flush(): void {
    for (const page of this.#dirty) this.#copyPage(page)
    this.#dirty.clear()
    this.#durableSize = this.#size
    this.writeBacks++
  }

  /** A write-back failed: the pages count as written, and every handle that is open now will hear of it once. */
  fail(): void {
    for (const page of this.#dirty) this.#lost.add(page)
    this.#dirty.clear()
    for (const handle of this.handles) handle.errorPending = true
  }

  /** The kernel writes some of what is dirty, in an order of its own. */
  writeBackSome(random: Random): void {
    for (const page of this.#dirty) {
      if (!random.chance(0.5)) continue
      this.#dirty.delete(page)
      this.#copyPage(page)
      const end = Math.min((page + 1) * this.#pageBytes, this.#size)
      if (end > this.#durableSize && random.chance(0.5)) this.#durableSize = end
    }
    this.writeBacks++
  }

  losePower(random: Random): void {
    // Left to single pages, a long write would practically never survive or vanish as a whole; so how kind the disk was to this
    // file is drawn first.
    const kindness = random.pick([0, 0.5, 1])
    for (const page of this.#dirty) {
      if (random.chance(kindness)) this.#copyPage(page)
      else if (random.chance(0.3)) this.#tearPage(page, random)
    }
    for (const page of this.#lost) {
      if (random.chance(0.25)) this.#copyPage(page)
    }
    const unsynced = this.#size - this.#durableSize
    const size = this.#durableSize + random.pick([0, unsynced, random.int(unsynced + 1)])
    this.#durable = Buffer.from(this.#durable.subarray(0, size))
    this.#cache = Buffer.from(this.#durable)
    this.#size = size
    this.#durableSize = size
    this.#dirty.clear()
    this.#lost.clear()
    this.handles.clear()
  }

  /** Flips one bit on the platter and in the cache. */
  rot(offset: number, bit: number): void {
    if (offset < 0 || offset >= this.#size) throw new RangeError(`Offset ${offset} is outside of the ${this.#size} bytes of the file.`)
    for (const content of [this.#cache, this.#durable]) content[offset] = (content[offset] as number) ^ (1 << bit)
  }

  #copyPage(page: number): void {
    const from = page * this.#pageBytes
    this.#cache.copy(this.#durable, from, from, from + this.#pageBytes)
  }

  /** One side of a random byte is new, the other old. */
  #tearPage(page: number, random: Random): void {
    const from = page * this.#pageBytes
    const to = Math.min(from + this.#pageBytes, this.#cache.length)
    const tear = from + random.int(Math.max(1, to - from))
    if (random.chance(0.5)) this.#cache.copy(this.#durable, from, from, tear)
    else this.#cache.copy(this.#durable, tear, tear, to)
  }
}

function enlarged(content: Buffer, length: number): Buffer {
  const larger = Buffer.alloc(length)
  content.copy(larger)
  return larger
}
