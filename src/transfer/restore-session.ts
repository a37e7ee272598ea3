/**
 * Restores one session from a backup into a store that is in use. Other processes may read and write at the same time, this session too.
 * engines/files/restore-segments.ts changes the files, and says what is on the disk if the process dies. Here is what the files alone do not say:
 *
 * - A deleted session does not come back: that takes `restore`, or a person who decides.
 * - An erased message does not come back. Erasures that the store or the backup records are applied to the lines of the backup first.
 * - Segments of an earlier incarnation, which the store may have purged, stay away.
 * - A message that a caller repeated after its line had rotted does not come back a second time (repeated-records.ts).
 * - A message does not come back whose place a later one has taken (session/noticed.ts): it would be shown beside that one.
 * - Damaged lines are copied to the quarantine before they are written over.
 *
 * Every step may be done twice: repeating the call completes one that died.
 */
import { KEY_SPACE } from '../engine/names.ts'
import type { Engine, Journal } from '../engine/port.ts'
import { checkDirectories } from '../engines/files/backup.ts'
import { backupEngine } from '../engines/files/backup-engine.ts'
import { finishReplacements } from '../engines/files/backup-replacement.ts'
import type { Patch } from '../engines/files/compare-segment.ts'
import type { Disk } from '../engines/files/disk.ts'
import { isMissing, unreadable } from '../engines/files/failures.ts'
import { nodeDisk } from '../engines/files/node-disk.ts'
import { requireOneHistory } from '../engines/files/one-history.ts'
import {
  announce,
  type PlannedSegment,
  plannedBytes,
  planSegments,
  type RestoreTarget,
  readSegment,
  restoreSegments,
  type WantedSegment,
  writtenRanges,
} from '../engines/files/restore-segments.ts'
import { HoldfastError } from '../errors.ts'
import { shellWord } from '../journal/command-words.ts'
import type { NoticedGap } from '../record/damage.ts'
import type { ErasedLine } from '../record/erasure.ts'
import { splitLines } from '../record/line.ts'
import { checkId } from '../session/check.ts'
import { type FoundStatus, type JournalFacts, journalFacts, sessionStatus } from '../store/damage/journal-facts.ts'
import { putInQuarantine } from '../store/damage/quarantine.ts'
import { Handle } from '../store/handle.ts'
import { erasedBytes } from '../store/lifecycle/erase.ts'
import { type EncryptionOptions, openStore } from '../store/open-store.ts'
import type { StoreParts } from '../store/parts.ts'
import { repeatedRecords } from './repeated-records.ts'

export interface RestoreSessionOptions {
  /** Defaults to `default`. */
  readonly space?: string
  /** Of an encrypted store. Its keys must be in the store. */
  readonly encryption?: EncryptionOptions
  /** Compares, and changes nothing. */
  readonly dryRun?: boolean
  readonly signal?: AbortSignal
  readonly onProgress?: (bytes: number) => void
  /** @internal */
  readonly disk?: Disk
}

export interface RestoredSession {
  readonly id: string
  /** Segments of the session in the backup. */
  readonly segments: number
  /** Bytes that were missing. */
  readonly restoredBytes: number
  /** Lines that were damaged in the store and intact in the backup. */
  readonly repairedLines: number
  /** Damaged lines that stay damaged, because later records of the session have their message ids or operation keys, or have taken their place. */
  readonly repeatedLines: number
  /** Lines of the backup that hold a message which was erased since. They stay erased. */
  readonly keptErased: number
  /** Of the session afterwards; with `dryRun`, as it would be afterwards. `damaged`: the backup does not bring back all that was lost. */
  readonly status: FoundStatus
  /** Of a fork: the sessions that it shares messages with and that are not whole. They are not restored with it. */
  readonly origins: readonly { readonly id: string; readonly status: FoundStatus }[]
}

/**
 * Restores one session from the backup at `from` into the store at `to`. The store may be in use.
 *
 * @param options `space` defaults to `default`, `dryRun` to false.
 * @returns What was restored, and the status of the session afterwards.
 * @throws HoldfastError NOT_FOUND when there is no such backup, store or session in the backup.
 * @throws HoldfastError CONFLICT when the session is deleted, or when store and backup hold different records. Nothing was changed then.
 * @throws HoldfastError DAMAGED when the backup holds another session in this place, or segments of two histories. Nothing was changed then.
 * @throws HoldfastError UNREADABLE when the session is encrypted and its key is not available.
 * @example
 * const { status } = await restoreSession('./backup', './store', 'support-42')
 */
export async function restoreSession(from: string, to: string, id: string, options: RestoreSessionOptions = {}): Promise<RestoredSession> {
  const { space = 'default', disk = nodeDisk, encryption } = options
  checkId('A session id', id)
  checkDirectories(from, to)
  refuseAddress(to)
  await requireIn(disk, from, ['sessions'], 'no backup', `There is no backup at ${from}.`)
  await requireIn(
    disk,
    to,
    ['sessions', 'holdfast.json'],
    'no store',
    `There is no store at ${to}. To make a store of the whole backup, leave out the session.`,
  )
  await finishReplacements(disk, from)
  const store = await openStore(to, { space, brief: true, ...(encryption === undefined ? {} : { encryption }) })
  try {
    const name = store.parts.engine.name(space, id)
    return await new Restore(store.parts, { disk, root: to, name }, { disk, root: from, name }, id).run(options)
  } finally {
    await store.close()
  }
}

class Restore {
  readonly #parts: StoreParts
  readonly #target: RestoreTarget
  readonly #source: RestoreTarget
  readonly #id: string
  #keptErased = 0

  constructor(parts: StoreParts, target: RestoreTarget, source: RestoreTarget, id: string) {
    this.#parts = parts
    this.#target = target
    this.#source = source
    this.#id = id
  }

  async run({ dryRun = false, signal, onProgress }: RestoreSessionOptions): Promise<RestoredSession> {
    const { engine } = this.#parts
    const [backup, live] = [await this.#backup(), engine.journal(this.#target.name)]
    const [inBackup, here] = [await this.#facts(backup), await this.#facts(live)]
    if (inBackup.segments.length === 0) throw this.#notInBackup()
    this.#refuseOther(inBackup)
    this.#refuseDeleted(here)
    const wanted = await this.#wanted(inBackup, here)
    requireOneHistory(wanted)
    const all = await planSegments(this.#target, wanted, here.segments)
    const repeated = await repeatedRecords(backup, live, writtenRanges(all), here.state.born)
    const { noticed } = here.state
    const isAll = repeated.size === 0 && noticed.length === 0
    const planned = isAll ? all : await planSegments(this.#target, wanted.map(without(repeated, noticed)), here.segments)
    signal?.throwIfAborted()
    if (!dryRun) await this.#carryOut(planned, onProgress)
    return {
      id: this.#id,
      segments: wanted.length,
      restoredBytes: planned.reduce((sum, { rest }) => sum + rest.length, 0),
      repairedLines: patchedLines(planned),
      repeatedLines: patchedLines(all) - patchedLines(planned),
      keptErased: this.#keptErased,
      status: dryRun ? await this.#statusAfter(planned) : await sessionStatus(this.#parts, this.#id),
      origins: await this.#origins(dryRun ? here : await this.#facts(live)),
    }
  }

  async #carryOut(planned: readonly PlannedSegment[], onProgress: RestoreSessionOptions['onProgress']): Promise<void> {
    const { engine, catalog, replicas } = this.#parts
    const { name } = this.#target
    await restoreSegments(this.#target, planned, (segment, patch) => this.#setAside(segment, patch), onProgress)
    // Also where nothing was left to do: an earlier attempt may have died just before this.
    await engine.rederive?.(name)
    await announce(this.#target)
    replicas.forget(name)
    const status = await sessionStatus(this.#parts, this.#id)
    await catalog.notice({ damaged: status === 'damaged' ? [name] : [], whole: status === 'ok' ? [name] : [] })
  }

  /** The journal in the backup, opened with the keys of the store. */
  async #backup(): Promise<Journal> {
    const { disk, root, name } = this.#source
    return (await this.#opened(backupEngine(disk, root))).journal(name)
  }

  async #opened(engine: Engine): Promise<Engine> {
    const { dataKeys, space } = this.#parts
    if (dataKeys === undefined || space === KEY_SPACE) return engine
    const { EncryptedEngine } = await import('../encryption/encrypted-engine.ts')
    return new EncryptedEngine(engine, dataKeys, { indexed: false })
  }

  async #statusAfter(planned: readonly PlannedSegment[]): Promise<FoundStatus> {
    if (planned.length === 0) return sessionStatus(this.#parts, this.#id)
    const { statusAfter } = await import('./status-after.ts')
    const { disk, root } = this.#target
    const after = backupEngine(disk, root, await plannedBytes(this.#target, planned))
    return statusAfter(this.#parts, this.#id, await this.#opened(after))
  }

  async #facts(journal: Journal): Promise<JournalFacts> {
    try {
      return await journalFacts(journal)
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== 'UNREADABLE') throw error
      throw new HoldfastError(
        'UNREADABLE',
        `The session "${this.#id}" cannot be read: ${error.message} If its key is not in this store, restore the whole backup to another directory with --keys, and export the session from there.`,
        { cause: error, details: error.details },
      )
    }
  }

  /** The segments of the backup as the store should have them. */
  async #wanted({ segments, erased }: JournalFacts, here: JournalFacts): Promise<WantedSegment[]> {
    const erasures = erasuresByRecord(new Map([...erased, ...here.erased]))
    const wanted: WantedSegment[] = []
    for (const first of segments) {
      const bytes = (await readSegment(this.#source, first)) ?? Buffer.of()
      const former = bytes.subarray(0, splitLines(bytes, 0).next)
      // What was there before the session was created again may have been purged.
      if (first + former.length <= here.state.born) continue
      wanted.push({ first, former, wanted: this.#withErasures(former, first, erasures) })
    }
    return wanted
  }

  #withErasures(former: Buffer, first: number, erasures: ReadonlyMap<string, readonly ErasedLine[]>): Buffer {
    if (erasures.size === 0) return former
    const bytes = Buffer.from(former)
    for (const { at, bytes: line } of splitLines(former, first).lines) {
      let fresh: Uint8Array = line
      for (const erasure of erasures.get(recordIdIn(line)) ?? []) fresh = erasedBytes({ at, bytes: fresh }, erasure) ?? fresh
      if (Buffer.compare(fresh, line) === 0) continue
      bytes.set(fresh, at - first)
      this.#keptErased++
    }
    return bytes
  }

  /** Keeps the damaged bytes, as the doctor does before it has damage acknowledged. */
  async #setAside(segment: number, { offset, was }: Patch): Promise<void> {
    await putInQuarantine(new Handle(this.#parts, this.#id), { kind: 'rotten', segment, offset, length: was.length }, was)
  }

  async #origins({ state }: JournalFacts): Promise<RestoredSession['origins']> {
    const found: { id: string; status: FoundStatus }[] = []
    for (const id of new Set(state.past.map(({ session }) => session))) {
      const status = await sessionStatus(this.#parts, id)
      if (status !== 'ok' && status !== 'deleted') found.push({ id, status })
    }
    return found
  }

  /** A file that lies in the wrong place of a backup must not get into the store. */
  #refuseOther({ state }: JournalFacts): void {
    const { space, id } = state
    if (space === null || id === null || (space === this.#parts.space && id === this.#id)) return
    throw new HoldfastError('DAMAGED', `The backup holds the session "${id}" of the space "${space}" in the place of "${this.#id}".`)
  }

  #refuseDeleted({ state }: JournalFacts): void {
    if (state.status !== 'deleted' && !state.purged) return
    const advice = state.purged
      ? 'It was also purged. Restore the backup to another directory, then export the session there and import it here.'
      : `Run \`holdfast restore ${shellWord(this.#id)}\` first.`
    throw new HoldfastError('CONFLICT', `The session "${this.#id}" was deleted in this store. Nothing was changed. ${advice}`, {
      details: { session_id: this.#id, reason: 'deleted' },
    })
  }

  #notInBackup(): HoldfastError {
    const { space } = this.#parts
    return new HoldfastError('NOT_FOUND', `There is no session "${this.#id}" in the space "${space}" of this backup.`, {
      details: { reason: 'no backup', session_id: this.#id, space },
    })
  }
}

function patchedLines(planned: readonly PlannedSegment[]): number {
  return planned.flatMap(({ patches }) => patches).reduce((sum, { lines }) => sum + lines, 0)
}

/** Leaves out the lines of these records. */
function without(records: ReadonlySet<string>, noticed: readonly NoticedGap[]): (segment: WantedSegment) => WantedSegment {
  return (segment) => {
    const isNoticed = (at: number): boolean => noticed.some(({ position, to }) => segment.first + at >= position && segment.first + at < to)
    const lines = splitLines(segment.wanted, 0).lines.filter(({ at, bytes }) => records.has(recordIdIn(bytes)) || isNoticed(at))
    return { ...segment, without: new Set(lines.map(({ at }) => at)) }
  }
}

/** An id is near the beginning of a line. */
const HEAD_BYTES = 128

function recordIdIn(line: Uint8Array): string {
  const head = Buffer.from(line.buffer, line.byteOffset, Math.min(line.length, HEAD_BYTES)).toString('latin1')
  return /"id":"([^"]*)"/.exec(head)?.[1] ?? ''
}

/** Lines to erase, by their records, in the order in which they were erased. */
function erasuresByRecord(erased: ReadonlyMap<number, readonly ErasedLine[]>): ReadonlyMap<string, readonly ErasedLine[]> {
  const byRecord = new Map<string, ErasedLine[]>()
  for (const [, lines] of [...erased].sort(([a], [b]) => a - b)) {
    for (const line of lines) byRecord.set(line.record, [...(byRecord.get(line.record) ?? []), line])
  }
  return byRecord
}

function refuseAddress(to: string): void {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(to)) return
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    'A session is restored into a store in a directory only. For a store in PostgreSQL, restore the backup to a directory, then run `holdfast copy <directory> postgres://…`.',
  )
}

async function requireIn(
  disk: Disk,
  directory: string,
  names: readonly string[],
  reason: 'no store' | 'no backup',
  message: string,
): Promise<void> {
  const there = await disk.list(directory).catch((error: unknown): string[] => {
    if (isMissing(error)) return []
    throw unreadable(error, directory)
  })
  if (!names.some((name) => there.includes(name))) throw new HoldfastError('NOT_FOUND', message, { details: { reason } })
}
