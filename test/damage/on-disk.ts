/** Damaged journals in a real directory. Each is a session of its own in one store, so that the store is opened once. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Engine, Journal } from '../../src/engine/port.ts'
import type { Disk } from '../../src/engines/files/disk.ts'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import { firstOf, segmentFile } from '../../src/engines/files/names.ts'
import { nodeDisk } from '../../src/engines/files/node-disk.ts'
import { history } from '../../src/journal/history.ts'
import type { Files } from './bytes-journal.ts'
import { diskWith } from './disk-with.ts'
import { describeVerdict, type JudgedLine, type Left, type Original } from './original.ts'
import { reducer } from './sample.ts'
import { changed, covers, forged, misreportedCut, readAndWrite } from './survey.ts'

/** Nothing here loses power, and thousands of syncs would take minutes. */
export const unsynced: Disk = diskWith(
  {
    overwrite: (path, offset, was, bytes) => nodeDisk.overwrite(path, offset, was, bytes, false),
    syncDirectory: async () => undefined,
  },
  () => ({ sync: async () => undefined }),
)

interface Looked {
  readonly findings: string[]
  /** As it was found, and when somebody had written. */
  readonly before: readonly JudgedLine[]
  readonly after: readonly JudgedLine[]
}

export class DamagedStore {
  readonly #directory: string
  readonly #engine: Engine
  #sessions = 0

  private constructor(directory: string, engine: Engine) {
    this.#directory = directory
    this.#engine = engine
  }

  static async open(): Promise<DamagedStore> {
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-'))
    return new DamagedStore(directory, await openFilesEngine({ directory, keysOf: reducer.keysOf, disk: unsynced }))
  }

  async dispose(): Promise<void> {
    await this.#engine.close()
    await rm(this.#directory, { recursive: true })
  }

  /** Flips one bit in so many, and tells what is wrong then. */
  async flips(original: Original, step: number): Promise<string[]> {
    const findings: string[] = []
    let count = 0
    for (const { segment, at, bit } of original.everyBit()) {
      if (count++ % step !== 0) continue
      const left = original.left(original.hitBy(segment, at))
      const result = await this.#look(original, left, original.flipped(segment, at, bit))
      const outside = original.lines.some(
        (line) => describeVerdict(line.verdict) === 'outside' && line.segment === segment && line.at <= at,
      )
      if (!outside && !result.after.some((line) => covers(line, segment, at))) result.findings.push('it is not reported')
      findings.push(...result.findings.map((finding) => `bit ${bit} of byte ${at}: ${finding}`))
    }
    return findings
  }

  /**
   * Cuts each file at one length in so many. What is missing in front of another segment must be reported at once; the half line that is
   * left at the end of the last one once somebody has written behind it.
   */
  async cuts(original: Original, step: number, start = 0): Promise<string[]> {
    const findings: string[] = []
    let count = 0
    for (const { segment, length } of original.everyLength()) {
      if (count++ % step !== start) continue
      const left = original.left(original.cutOff(segment, length))
      const result = await this.#look(original, left, original.cut(segment, length))
      const isHalf = length > 0 && original.files.get(segment)?.[length - 1] !== 0x0a
      if (segment === original.last && isHalf && !result.after.some((line) => covers(line, segment, segment + length - 1)))
        result.findings.push('the half line is not reported')
      result.findings.push(...misreportedCut(original, segment, length, result.before))
      findings.push(...result.findings.map((finding) => `segment ${segment} cut at ${length}: ${finding}`))
    }
    return findings
  }

  async #look(original: Original, left: Left, files: Files): Promise<Looked> {
    const name = this.#engine.name('damage', `session ${this.#sessions++}`)
    const path = join(this.#directory, 'sessions', name)
    await mkdir(path, { recursive: true })
    for (const [first, bytes] of files) await writeFile(join(path, segmentFile(first)), bytes)
    const judged = await readAll(this.#engine.journal(name))
    const { findings, after } = await readAndWrite(
      left,
      () => this.#engine.journal(name),
      () => contentsOf(path),
    )
    await this.#engine.journal(name).close()
    await rm(path, { recursive: true })
    return { findings: [...changed(left, judged), ...forged(original, judged), ...findings], before: judged, after }
  }
}

async function readAll(journal: Journal): Promise<JudgedLine[]> {
  const judged: JudgedLine[] = []
  for await (const { line, segment, verdict } of history(journal)) judged.push({ ...line, segment, verdict })
  return judged
}

async function contentsOf(path: string): Promise<Files> {
  const files = new Map<number, Buffer>()
  for (const file of await readdir(path)) {
    const first = firstOf(file, 'jsonl')
    if (first !== undefined) files.set(first, await readFile(join(path, file)))
  }
  return files
}
