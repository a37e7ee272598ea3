/** Faults inside of a process: a library that is loaded into it in front of the others makes its calls fail, as a page of memory says that the driver writes. */
import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { FAULTS, type Fault } from './fault-kinds.ts'

const PAGE_BYTES = 4096
const SKEW_AT = 8
const COUNTS_AT = 16
const HELD_AT = COUNTS_AT + 4 * FAULTS.length
const LIES_AT = HELD_AT + 4

/** The library, compiled by whatever compiler there is; or why there is none. */
export function buildLibrary(directory: string): { readonly library?: string; readonly reason?: string } {
  if (process.platform !== 'linux') return { reason: `this is ${process.platform}` }
  const library = join(directory, 'faults.so')
  // The compiler leaves sources where they are.
  const source = join(process.cwd(), 'test', 'torture', 'faults.c')
  const { error, status, stderr } = spawnSync('cc', ['-O2', '-shared', '-fPIC', '-o', library, source, '-ldl'], { encoding: 'utf8' })
  if (error !== undefined) return { reason: `there is no C compiler (${error.message})` }
  return status === 0 ? { library } : { reason: `cc ended with ${status}: ${stderr.trim()}` }
}

/** What one process is made to suffer. Outlives the process: what takes its place suffers the same. */
export class FaultPage {
  readonly env: Readonly<Record<string, string>>
  readonly #fd: number

  /** `syncs` is where what syncs have made safe is written down. */
  constructor({
    path,
    library,
    store,
    syncs,
  }: { readonly path: string; readonly library: string; readonly store: string; readonly syncs: string }) {
    writeFileSync(path, Buffer.alloc(PAGE_BYTES))
    this.#fd = openSync(path, 'r+')
    this.env = { LD_PRELOAD: library, HOLDFAST_TORTURE_PAGE: path, HOLDFAST_TORTURE_STORE: store, HOLDFAST_TORTURE_SYNCS: syncs }
  }

  /** From now on one call in so many fails; without a fault, none. */
  set(fault: Fault | undefined, every = 1): void {
    const words = Buffer.alloc(8)
    words.writeUInt32LE(fault === undefined ? 0 : 1 << FAULTS.indexOf(fault), 0)
    words.writeUInt32LE(every, 4)
    writeSync(this.#fd, words, 0, 8, 0)
  }

  /** From now on, or no longer, each sync waits. */
  holdSyncs(isHeld: boolean): void {
    this.#setFlag(HELD_AT, isHeld)
  }

  /** Plants the bug that each sync of a file is acknowledged and nothing is synced. */
  lieAboutSyncs(): void {
    this.#setFlag(LIES_AT, true)
  }

  #setFlag(at: number, isSet: boolean): void {
    const word = Buffer.alloc(4)
    word.writeUInt32LE(isSet ? 1 : 0)
    writeSync(this.#fd, word, 0, 4, at)
  }

  jump(skewMs: number): void {
    const words = Buffer.alloc(8)
    words.writeBigInt64LE(BigInt(skewMs))
    writeSync(this.#fd, words, 0, 8, SKEW_AT)
  }

  /** How often each fault has happened. */
  counts(): Record<Fault, number> {
    const words = Buffer.alloc(4 * FAULTS.length)
    readSync(this.#fd, words, 0, words.length, COUNTS_AT)
    return Object.fromEntries(FAULTS.map((fault, i) => [fault, words.readUInt32LE(4 * i)])) as Record<Fault, number>
  }

  close(): void {
    closeSync(this.#fd)
  }
}
