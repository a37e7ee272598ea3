/** `backup` and `restore-backup`: a copy of a store that is in use, a store made of one, and one session restored from one. */
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { vanishedSessions } from '../doctor/vanished-sessions.ts'
import { KEY_SPACE, spaceName } from '../engine/names.ts'
import { type BackedUp, backUp, restoreBackup } from '../engines/files/backup.ts'
import { sessionWords, shellWord } from '../journal/command-words.ts'
import { withoutUndefined } from '../server/without-undefined.ts'
import type { RestoredSession } from '../transfer/restore-session.ts'
import { wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'
import { byNumber, count } from './counts.ts'

const DAMAGE_FOUND = 5

interface BackupOptions {
  readonly keys?: string
}

interface RestoreOptions extends BackupOptions {
  readonly session?: string
  readonly dryRun?: boolean
}

export async function backup(context: Context, [to]: [string], { keys }: BackupOptions): Promise<void> {
  const store = context.requireDirectory()
  if (keys !== undefined) await copyKeys(store, resolve(keys))
  else if (existsSync(join(store, 'sessions', spaceName(KEY_SPACE))))
    context.out.warn(
      'The keys of the sessions are not part of the backup, and without them nobody can read it. Copy them elsewhere with --keys.',
    )
  const done = await run(context, (options) => backUp(store, resolve(to), options))
  const vanished = await vanishedSessions(store, context.signal)
  await report(context, done, { vanished: vanished.map(({ id, space }) => ({ session_id: id, space })) })
  const { copied, unchanged, sessions, damagedLines } = done
  for (const { session, journal, movedTo } of done.replaced)
    context.out.note(
      `The session ${session === null ? journal : `"${session}"`} continued after its damage was accepted. Its former copy is now in ${join(to, movedTo)}, and the session was copied again.`,
    )
  context.out.note(
    `${count(copied, 'segment')} copied, ${unchanged} unchanged; ${count(sessions, 'session')} ${byNumber(sessions, 'is', 'are')} in ${to}.`,
  )
  if (damagedLines > 0)
    context.out.warn(
      `The store has ${count(damagedLines, 'damaged line')}. A backup copies such lines as they are. Run \`holdfast doctor\` unless the damage was accepted.`,
    )
  for (const path of done.differing)
    context.out.warn(
      `${path} differs in the backup and in the store. The backup keeps its own file, without what the store has added to it since. One of them may have rotted: run \`holdfast doctor\`. If you accept the damage, the next backup copies the session again.`,
    )
  for (const { id, space } of vanished) {
    const words = space === null ? '' : ` ${sessionWords({ id, space })}`
    context.out.warn(
      `The session "${id}" lost bytes. The backup has what is left of it, and what earlier backups have copied. Run \`holdfast doctor${words}\`.`,
    )
  }
  if (done.differing.length + vanished.length > 0) process.exitCode = DAMAGE_FOUND
}

/** The keys as they are now, in place of what was copied there before: one that was destroyed must not stay anywhere. */
async function copyKeys(store: string, to: string): Promise<void> {
  const beside = `${to}.new`
  rmSync(beside, { recursive: true, force: true })
  await backUp(store, beside, { part: 'keys' })
  rmSync(to, { recursive: true, force: true })
  renameSync(beside, to)
}

export async function restore(context: Context, [from]: [string], { keys, session, dryRun }: RestoreOptions): Promise<void> {
  if (session !== undefined && keys !== undefined)
    throw wrongUsage(
      '--session leaves the keys of the store as they are: leave out --keys, or restore the whole backup to another directory.',
    )
  if (session !== undefined) return restoreOne(context, resolve(from), session, dryRun === true)
  if (dryRun === true) throw wrongUsage('--dry-run works with --session only.')
  const withKeys = keys === undefined ? {} : { keys: resolve(keys) }
  const done = await run(context, (options) => restoreBackup(resolve(from), context.requireDirectory(), { ...options, ...withKeys }))
  await report(context, done)
  context.out.note(`${count(done.sessions, 'session')} restored to ${context.requireDirectory()}.`)
}

async function restoreOne(context: Context, from: string, id: string, dryRun: boolean): Promise<void> {
  const { out, signal, encryption, space } = context
  const progress = out.progress()
  let restored = 0
  const onProgress = (bytes: number): void => {
    restored += bytes
    progress.update(count(restored, 'byte'))
  }
  const { restoreSession } = await import('../transfer/restore-session.ts')
  const done = await restoreSession(from, context.target, id, { dryRun, signal, onProgress, ...withoutUndefined({ encryption, space }) })
  progress.end()
  const { segments, restoredBytes, repairedLines, repeatedLines, keptErased, status } = done
  const fields = { session_id: id, segments, restored_bytes: restoredBytes, repaired_lines: repairedLines, repeated_lines: repeatedLines }
  const damaged = done.origins.map((origin) => ({ session_id: origin.id, status: origin.status }))
  const more = { ...(dryRun ? { dry_run: true } : {}), ...(damaged.length === 0 ? {} : { origins: damaged }) }
  await out.result({ ...fields, kept_erased: keptErased, status, ...more })
  out.note(`${id}: ${whatWasDone(done, dryRun)}`)
  if (status === 'damaged')
    out.warn(
      dryRun
        ? `The session "${id}" would still be damaged: the backup does not bring back all that was lost.`
        : `The session "${id}" is still damaged: the backup does not bring back all that was lost. Run \`holdfast doctor ${shellWord(id)}\`, or \`holdfast accept-damage ${shellWord(id)}\` to continue without it.`,
    )
  for (const origin of damaged)
    out.warn(`"${id}" is a fork, and shares messages with "${origin.session_id}", which is ${origin.status}. Restore that session too.`)
}

function whatWasDone({ restoredBytes, repairedLines, repeatedLines, keptErased, status }: RestoredSession, dryRun: boolean): string {
  const bytes = `${count(restoredBytes, 'byte')} ${dryRun ? byNumber(restoredBytes, 'is missing', 'are missing') : 'restored'}`
  const lines = `${count(repairedLines, 'damaged line')} ${dryRun ? 'can be ' : ''}repaired`
  const sentences = [`${bytes}, ${lines}.`]
  if (repeatedLines > 0)
    sentences.push(
      `${count(repeatedLines, 'damaged line')} ${byNumber(repeatedLines, 'stays', 'stay')} damaged: later records of the session have the same message ids or operation keys.`,
    )
  if (keptErased > 0) sentences.push(`${count(keptErased, 'erased line')} ${byNumber(keptErased, 'stays', 'stay')} erased.`)
  if (dryRun && status === 'ok') sentences.push('The session would be whole.')
  return sentences.join(' ')
}

type Options = { readonly signal: AbortSignal; readonly onProgress: (done: BackedUp) => void }

async function run({ out, signal }: Context, work: (options: Options) => Promise<BackedUp>): Promise<BackedUp> {
  const progress = out.progress()
  const done = await work({
    signal,
    onProgress: ({ sessions, copiedBytes }) => progress.update(`${count(sessions, 'session')}, ${count(copiedBytes, 'byte')}`),
  })
  progress.end()
  return done
}

/** `more`: fields that only one of the commands has. */
async function report({ out }: Context, done: BackedUp, more: object = {}): Promise<void> {
  const { sessions, copied, unchanged, copiedBytes, damagedLines, differing } = done
  const replaced = done.replaced.map(({ session, space, journal, movedTo }) => ({ session_id: session, space, journal, moved_to: movedTo }))
  await out.result({ sessions, segments: copied, unchanged, bytes: copiedBytes, damaged: damagedLines, differing, replaced, ...more })
}
