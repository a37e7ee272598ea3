/** Spoils the files of a store that is closed: flipped bytes, zeros, files that are cut or deleted. */
import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isBlank, splitLines } from '../../src/record/line.ts'

/** A line of a journal, and what it says. */
export interface WrittenLine {
  readonly file: string
  readonly offset: number
  readonly length: number
  readonly position: number
  readonly type: string
  /** Ids of the messages in it. */
  readonly ids: readonly string[]
}

/** The segment files of a session, the first one first. */
export async function segmentsOf(store: string, session: string): Promise<string[]> {
  const names = await readdir(join(store, 'sessions'), { recursive: true })
  const own = names.filter((name) => name.includes(`/${session}-`) && name.endsWith('.jsonl'))
  return own.sort().map((name) => join(store, 'sessions', name))
}

export async function linesOf(store: string, session: string): Promise<WrittenLine[]> {
  const found: WrittenLine[] = []
  for (const file of await segmentsOf(store, session)) {
    const first = Number(/(\d{16})\.jsonl$/.exec(file)?.[1])
    for (const { at, bytes } of splitLines(await readFile(file), 0).lines) {
      if (isBlank(bytes)) continue
      const { type, ids } = JSON.parse(Buffer.from(bytes).toString()) as { type: string; ids?: string[] }
      found.push({ file, offset: at, length: bytes.length, position: first + at, type, ids: ids ?? [] })
    }
  }
  return found
}

/** Flips a bit of a file. */
export async function flip(file: string, offset: number, bit = 0): Promise<void> {
  const bytes = await readFile(file)
  bytes[offset] = (bytes[offset] as number) ^ (1 << bit)
  await writeFile(file, bytes)
}

/** Flips a bit in the middle of a line. */
export async function rot({ file, offset, length }: WrittenLine): Promise<void> {
  await flip(file, offset + Math.floor(length / 2))
}

/** Puts zeros where a line was. */
export async function zero({ file, offset, length }: WrittenLine): Promise<void> {
  const bytes = await readFile(file)
  bytes.fill(0, offset, offset + length)
  await writeFile(file, bytes)
}

export async function cut(file: string, length: number): Promise<void> {
  await truncate(file, length)
}

/** Derived files go too: what they know of lost records must not matter. */
export async function removeIdFiles(store: string): Promise<void> {
  for (const name of await readdir(store, { recursive: true })) if (name.endsWith('.ids')) await rm(join(store, name))
}
