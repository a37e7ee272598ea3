/**
 * Files of which nothing can be read: no line is JSON, and the file as a whole is none. Such a file may be all that is left of a session, so it is
 * reported, and its bytes go into the quarantine.
 */
import type { DamageItem, Source, SourceFile } from '../../formats/item.ts'
import { readRecords, readText } from '../../formats/lines.ts'
import { parsed } from '../../formats/salvage.ts'
import { type ImportedSession, ReportDraft } from './report.ts'

/** One entry of the quarantine. */
const PIECE_BYTES = 1024 * 1024

/** Whether a source is a file that has something in it, and nothing of that can be read. */
export async function isGarbage({ files, orphan }: Source): Promise<boolean> {
  const [file, ...more] = files
  if (file === undefined || more.length > 0 || orphan === true) return false
  for await (const reads of readRecords(file, () => true)) if (reads.some((read) => 'record' in read && !read.recovered)) return false
  const { text } = await readText(file)
  return text.trim() !== '' && parsed(text) === undefined
}

/** All bytes of a file as damage, up to a number of them. */
export async function garbageIn(file: SourceFile, most: number): Promise<DamageItem[]> {
  const damage: DamageItem[] = []
  let [offset, parts, kept] = [0, [] as Uint8Array[], 0]
  const add = (): void => {
    const place = { file: file.path, line: null, offset, length: kept }
    if (kept > 0)
      damage.push({ kind: 'damage', session: null, place, reason: 'Nothing in this file can be read.', bytes: Buffer.concat(parts) })
    offset += kept
    parts = []
    kept = 0
  }
  for await (const chunk of file.read()) {
    const piece = Buffer.from(chunk.subarray(0, most - offset - kept))
    parts.push(piece)
    kept += piece.length
    if (kept >= PIECE_BYTES) add()
    if (offset + kept >= most) break
  }
  add()
  return damage
}

export function garbageReport(source: Source): ImportedSession {
  const draft = new ReportDraft()
  const [file] = source.files as [SourceFile]
  draft.addDamage({ file: file.path, line: null, offset: 0, length: file.size }, 'Nothing in this file can be read.')
  draft.unreadable = true
  draft.note =
    'No known format was recognised, and nothing in it can be read. An import keeps its bytes in the quarantine of the store, 16 MiB at most. If it has a format, name it: `from`, or --from at the command line.'
  return draft.finished(source.name, null, null)
}
