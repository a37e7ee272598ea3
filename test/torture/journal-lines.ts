/**
 * Which records of a session are in its files, by a reader of its own: the driver must know what a harm takes without asking the code under test.
 * It follows "Which lines count" in docs/format.md, but for checksums: only processes that die leave half a line, and that is no JSON.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A record of a session, as far as the rules ask for it. */
export interface RecordLine {
  readonly id: string
  readonly at: number
  readonly tags: readonly string[]
  readonly title: string | undefined
  /** The number of the archive that a commit made. */
  readonly archive: number | undefined
}

interface Fields {
  readonly id?: string
  readonly pos?: number
  readonly base?: number
  readonly type?: string
  readonly messages?: readonly { readonly content?: unknown }[]
  readonly title?: unknown
  readonly archive?: unknown
}

const SEGMENT = /^\d{16}\.jsonl$/

export function segmentsIn(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => SEGMENT.test(name))
      .toSorted()
  } catch {
    return []
  }
}

/** In the order of their positions. */
export function recordsIn(directory: string): RecordLine[] {
  const files = segmentsIn(directory)
  const firsts = files.map((name) => Number(name.slice(0, -6)))
  const records = new Map<string, RecordLine>()
  for (const [i, file] of files.entries()) {
    const successor = firsts[i + 1] ?? Number.POSITIVE_INFINITY
    for (const record of recordsOf(bytesOf(join(directory, file)), firsts[i] as number, successor)) {
      // What a segment carries counts where it was first.
      if (!records.has(record.id)) records.set(record.id, record)
    }
  }
  return [...records.values()].toSorted((a, b) => a.at - b.at)
}

/** Others may remove it in the meantime. */
function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch {
    return Buffer.alloc(0)
  }
}

function* recordsOf(bytes: Buffer, segment: number, successor: number): Generator<RecordLine> {
  const seen = new Set<string>()
  let hasPlaced = false
  for (let from = 0, to = bytes.indexOf('\n'); to !== -1; from = to + 1, to = bytes.indexOf('\n', from)) {
    const { id, pos, base, type, ...fields } = parsed(bytes.toString('utf8', from, to))
    if (id === undefined || pos === undefined || base !== undefined || pos >= successor) continue
    const isPlaced = pos === segment + from
    if (seen.has(id) || (!isPlaced && (hasPlaced || pos >= segment))) continue
    seen.add(id)
    hasPlaced ||= isPlaced
    yield recordOf(id, pos, type, fields)
    if (type === 'segment.sealed' && isPlaced) return
  }
}

function recordOf(id: string, at: number, type: string | undefined, { messages, title, archive }: Fields): RecordLine {
  return {
    id,
    at,
    tags: (type === 'messages.appended' ? (messages ?? []) : []).map(({ content }) => String(content).split(' ', 1)[0] as string),
    title: typeof title === 'string' ? title : undefined,
    archive: type === 'commit.requested' && typeof archive === 'number' ? archive : undefined,
  }
}

function parsed(line: string): Fields {
  if (!line.startsWith('{')) return {}
  try {
    return JSON.parse(line) as Fields
  } catch {
    return {}
  }
}
