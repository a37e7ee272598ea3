/**
 * Replaces the copy of a session in a backup. A session whose loss was accepted continues from what was left of it. What the backup has of the
 * lost part belongs to the history before that; segments of both would make a journal that never was. So the former copy moves, as a whole, to
 * `replaced/<time>/`, which is a backup too, and the session is copied again:
 *
 *   1. the session as the store has it is written to `replaced/<time>/next+sessions+…`
 *   2. the former copy moves to `replaced/<time>/sessions/…`
 *   3. the new copy moves to the place of the session
 *
 * If the process dies before 2, the backup still has the former copy in its place, and the next backup replaces it. A directory `next+…` that is
 * left may be deleted after that. Between 2 and 3, both copies are whole, and none is in its place: every backup and every restore does step 3 first.
 */
import { join } from 'node:path'
import { isoTime, systemClock } from '../../engine/clock.ts'
import { journalName } from '../../engine/names.ts'
import { decodeLine, splitLines } from '../../record/line.ts'
import type { JournalRecord } from '../../record/record.ts'
import { epochOf } from '../../record/watermark.ts'
import { entries, journals, moveDirectory, putFile, readWhole, segmentFiles } from './backup-files.ts'
import type { Disk } from './disk.ts'
import { firstOf } from './names.ts'

/** A session whose former copy was moved, and to where. */
export interface ReplacedSession {
  /** Null if no record of the journal says whose it is. */
  readonly session: string | null
  readonly space: string | null
  /** The directory of the journal, below the store. */
  readonly journal: string
  /** The directory below the backup which is a backup with the former copy. */
  readonly movedTo: string
}

export interface Places {
  readonly disk: Disk
  /** Of the store. */
  readonly from: string
  /** Of the backup. */
  readonly to: string
}

/** Whether damage of this journal was accepted in the store that the copy in the backup does not know. A later epoch says so, also if the seal rotted. */
export async function hasNewAcceptance({ disk, from, to }: Places, journal: string): Promise<boolean> {
  if ((await lastEpoch(disk, join(from, journal))) > (await lastEpoch(disk, join(to, journal)))) return true
  const accepted = await acceptances(disk, join(from, journal))
  if (accepted.size === 0) return false
  const known = await acceptances(disk, join(to, journal))
  return [...accepted].some((id) => !known.has(id))
}

async function lastEpoch(disk: Disk, directory: string): Promise<number> {
  return epochOf(firstOf((await segmentFiles(disk, directory)).at(-1) ?? '', 'jsonl') ?? 0)
}

/** Ids of the records with which a person accepted damage, and of the seals after them. */
async function acceptances(disk: Disk, directory: string): Promise<Set<string>> {
  const ids = new Set<string>()
  for await (const record of recordsWith(disk, directory, '"damage accepted"'))
    if (record.type === 'segment.sealed' && record.why === 'damage accepted') ids.add(record.id)
  for await (const { type, id } of recordsWith(disk, directory, '"damage.acknowledged"')) if (type === 'damage.acknowledged') ids.add(id)
  return ids
}

/** Intact records at their place, of lines that have a text in them. */
async function* recordsWith(disk: Disk, directory: string, text: string): AsyncGenerator<JournalRecord> {
  for (const file of await segmentFiles(disk, directory)) {
    const bytes = await readWhole(disk, join(directory, file))
    if (bytes?.includes(text) !== true) continue
    for (const line of splitLines(bytes, firstOf(file, 'jsonl') ?? 0).lines) {
      if (!Buffer.from(line.bytes.buffer, line.bytes.byteOffset, line.bytes.length).includes(text)) continue
      const decoded = decodeLine(line.bytes)
      if (decoded.kind === 'record' && decoded.record.pos === line.at) yield decoded.record
    }
  }
}

/** Moves each new copy to its place of which the former copy has moved away. */
export async function finishReplacements(disk: Disk, backup: string): Promise<void> {
  for (const time of await entries(disk, join(backup, 'replaced'))) {
    const aside = join(backup, 'replaced', time)
    for await (const journal of journals(disk, aside)) {
      const [next, place] = [nextOf(aside, journal), join(backup, journal)]
      if ((await segmentFiles(disk, next)).length === 0 || (await segmentFiles(disk, place)).length > 0) continue
      await moveDirectory(disk, next, place)
    }
  }
}

/** One directory, so that nothing of it is left once it has moved. */
function nextOf(aside: string, journal: string): string {
  return join(aside, `next+${journal.replaceAll('/', '+')}`)
}

export class Replacement {
  readonly #places: Places
  /** Where the copies go that this backup replaces: below the backup. */
  #aside: string | undefined

  constructor(places: Places) {
    this.#places = places
  }

  /** Replaces the copy of one journal. `put` is called for each segment that was copied. */
  async run(journal: string, identity: string, put: (file: string, bytes: number) => void): Promise<ReplacedSession> {
    const { disk, from, to } = this.#places
    const aside = await this.#placeFor(journal, identity)
    const next = nextOf(join(to, aside), journal)
    for (const file of await segmentFiles(disk, join(from, journal))) {
      const found = await readWhole(disk, join(from, journal, file))
      if (found === undefined) continue
      const bytes = found.subarray(0, splitLines(found, 0).next)
      await putFile(disk, join(next, file), bytes)
      put(file, bytes.length)
    }
    await moveDirectory(disk, join(to, journal), join(to, aside, journal))
    await moveDirectory(disk, next, join(to, journal))
    const whose = (await this.#whose(journal, to)) ?? (await this.#whose(journal, join(to, aside)))
    return { ...(whose ?? { session: null, space: null }), journal, movedTo: aside }
  }

  /** One place for all sessions of a backup, unless one of them is replaced twice. */
  async #placeFor(journal: string, identity: string): Promise<string> {
    const { disk, to } = this.#places
    if (this.#aside !== undefined && (await entries(disk, join(to, this.#aside, journal))).length === 0) return this.#aside
    const taken = await entries(disk, join(to, 'replaced'))
    const time = isoTime(systemClock.now()).replaceAll(':', '-')
    let name = time
    for (let i = 1; taken.includes(name); i++) name = `${time}.${i}`
    const aside = `replaced/${name}`
    const bytes = await readWhole(disk, join(to, identity))
    if (bytes !== undefined) await putFile(disk, join(to, aside, identity), bytes)
    this.#aside = aside
    return aside
  }

  /** The record that says it may be in the part that was lost. */
  async #whose(journal: string, root: string): Promise<Pick<ReplacedSession, 'session' | 'space'> | undefined> {
    for await (const { space, session } of recordsWith(this.#places.disk, join(root, journal), '"session":"')) {
      if (typeof space === 'string' && typeof session === 'string' && `sessions/${journalName(space, session)}` === journal)
        return { space, session }
    }
    return undefined
  }
}
