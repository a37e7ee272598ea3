/** `import`: brings in the sessions of other programs, and tells what became of each. */
import { stat } from 'node:fs/promises'
import type { RemoteStore } from '../client/store.ts'
import { HoldfastError } from '../errors.ts'
import type { Source } from '../formats/item.ts'
import { withoutUndefined } from '../server/without-undefined.ts'
import type { Store } from '../store/store.ts'
import { importInto } from '../transfer/import/import.ts'
import type { ImportedSession, ImportOptions } from '../transfer/import/report.ts'
import { sourcesAt } from '../transfer/sources.ts'
import { ImportTotals, importedCodec } from '../wire/imports.ts'
import type { Context } from './context.ts'
import { byNumber, count } from './counts.ts'
import { growSlowly } from './grow-slowly.ts'
import { inLine } from './terminal.ts'

interface Options {
  readonly watch?: boolean
  readonly from: string
  readonly dryRun?: boolean
}

const WATCH_EVERY_MS = 1000

export async function importSessions(context: Context, [paths]: [readonly string[]], options: Options): Promise<void> {
  const { out, signal } = context
  growSlowly()
  const take = await taker(context, options)
  const totals = new ImportTotals()
  if (options.watch === true) await watch(context, take, paths, options, totals)
  else await pass(context, take, sourcesAt(paths), options, totals)
  if (signal.aborted && options.watch !== true) return
  await out.result({ totals: totals.fields, dry_run: options.dryRun === true })
  const { sources, sessions, messages, skipped, recovered, damaged, suspects } = totals.fields
  const would = options.dryRun === true ? 'would be imported' : 'imported'
  const unread = totals.unreadable === 0 ? '' : `, nothing in ${count(totals.unreadable, 'file')} could be read`
  out.note(
    `${count(messages, 'message')} ${would} into ${count(sessions, 'session')} from ${count(sources, 'source')}; ${skipped} ${byNumber(skipped, 'was', 'were')} imported before, ${recovered} ${byNumber(recovered, 'comes', 'come')} from damaged places, ${count(damaged, 'place')} could not be read${unread}, ${count(suspects, 'message')} may be there twice.`,
  )
  if (totals.unreadable > 0 && totals.unreadable + totals.unknown === sources)
    throw new HoldfastError('UNREADABLE', 'Nothing here can be read. The note of each file says why.')
  if (totals.unknown > 0 && totals.unknown === sources)
    throw new HoldfastError('INVALID_ARGUMENT', 'Nothing here is of a format that is known. Name it with --from, if it is one.')
}

type Take = (sources: AsyncIterable<Source>, options: ImportOptions) => AsyncIterable<ImportedSession>

/** What takes sources in, here or at a server. */
async function taker(context: Context, { dryRun }: Options): Promise<Take> {
  const store = await (dryRun === true ? context.read() : context.write())
  if (!context.isRemote) return (sources, options) => importInto(store as Store, sources, options)
  const { importRemote: importAtServer } = await import('./import-remote.ts')
  return (sources, options) => importAtServer(store as RemoteStore, sources, options)
}

async function pass(context: Context, take: Take, sources: AsyncIterable<Source>, options: Options, totals: ImportTotals): Promise<void> {
  const { out, signal } = context
  const progress = out.progress()
  const { from, dryRun } = options
  const onProgress = ({ source, done, total, messages }: { source: string; done: number; total: number; messages: number }): void =>
    progress.update(`${total === 0 ? '' : `${done} of ${count(total, 'source')}, `}${count(messages, 'message')}, ${source}`)
  for await (const session of take(sources, { from, signal, onProgress, ...withoutUndefined({ dryRun }) })) {
    totals.add(session)
    await tell(context, session, options.watch === true)
  }
  progress.end()
}

async function tell({ out }: Context, session: ImportedSession, onlyNew: boolean): Promise<void> {
  const { source, format, messages, recovered, damaged, skipped, healed, suspects, damage, note } = session
  if (onlyNew && messages === 0) return
  await out.result(importedCodec.encode(session), (colours) => {
    const counts = [
      count(messages, 'message'),
      ...(skipped > 0 ? [`${skipped} there already`] : []),
      ...(recovered > 0 ? [`${recovered} recovered`] : []),
      ...(damaged > 0 ? [colours.red(count(damaged, 'damaged place'))] : []),
      ...(suspects.length > 0 ? [colours.yellow(`${suspects.length} may be there twice`)] : []),
    ]
    const places = damage.slice(0, 5).map(({ file, line, offset, length, reason }) => {
      const where = line === null ? `byte ${offset}` : `line ${line}, byte ${offset}`
      return `  ${colours.red('damaged')} ${inLine(`${file}, ${where}, ${count(length, 'byte')}: ${reason}`)}`
    })
    const lines = [
      ...healed.map((what) => `  ${colours.green('healed')} ${inLine(what)}`),
      ...places,
      ...(note === null ? [] : [`  ${inLine(note)}`]),
    ]
    return [`${inLine(session.session ?? source)}  ${counts.join(', ')}  ${colours.dim(inLine(format ?? 'unknown'))}`, ...lines].join('\n')
  })
}

/**
 * Imports all there is, and looks again and again for files that changed. A file is marked before it is read, so what is written meanwhile
 * is seen with the next look; what is new in it is told by its content, never by its time.
 */
async function watch(context: Context, take: Take, paths: readonly string[], options: Options, totals: ImportTotals): Promise<void> {
  const { out, signal } = context
  out.note('Watching for changes; Ctrl-C ends.')
  const seen = new Map<string, string>()
  while (!signal.aborted) {
    const changed: Source[] = []
    for await (const source of sourcesAt(paths)) {
      const mark = source.files.map(({ path, size }) => `${path} ${size}`).join('\n') + (await timeOf(source))
      if (seen.get(source.name) !== mark) changed.push(source)
      seen.set(source.name, mark)
    }
    if (changed.length > 0) await pass(context, take, inTurn(changed), options, totals)
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, WATCH_EVERY_MS)
      signal.addEventListener('abort', () => [clearTimeout(timer), resolve()], { once: true })
    })
  }
}

async function* inTurn(sources: readonly Source[]): AsyncGenerator<Source> {
  yield* sources
}

async function timeOf({ name }: Source): Promise<string> {
  const found = await stat(name).catch(() => undefined)
  return String(found?.mtimeMs)
}
