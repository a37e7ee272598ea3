/** Exporting: sessions as text, for other programs, for people, and for another store. */

import { idOf } from '../../engine/session-id-of.ts'
import { HoldfastError } from '../../errors.ts'
import { endLine, lineOf } from '../../formats/holdfast.ts'
import type { Item } from '../../formats/item.ts'
import { HTML_END, htmlArchive, htmlHead, htmlMessage, htmlStart } from '../../formats/render/html.ts'
import { markdownArchive, markdownHead, markdownMessage } from '../../formats/render/markdown.ts'
import { convert } from '../../message/formats.ts'
import { viewOf } from '../../message/message.ts'
import type { Redact } from '../../message/redact.ts'
import { isDamaged } from '../../record/damage.ts'
import { LIMITS } from '../../record/limits.ts'
import type { Json, JsonObject } from '../../record/record.ts'
import { type DamagedPlace, knownPlaces } from '../../store/damage/damage.ts'
import type { TreeNode } from '../../store/family.ts'
import { Handle } from '../../store/handle.ts'
import { redactorToRead } from '../../store/keys/fingerprint-key.ts'
import type { StoredMessage } from '../../store/messages/stored-message.ts'
import type { StoreParts } from '../../store/parts.ts'
import { Session } from '../../store/session.ts'
import type { Store } from '../../store/store.ts'
import { ItemReader } from './items.ts'

export const EXPORT_FORMATS = ['jsonl', 'markdown', 'html', 'openai', 'anthropic'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

export interface ExportOptions {
  /** One session; all of them unless told. */
  readonly session?: string
  /** With the forks and children of that session, and theirs. */
  readonly tree?: boolean
  /** `jsonl` unless told: it has everything, and can be imported again. */
  readonly format?: ExportFormat
  /** Takes keys and passwords out of texts, as far as they look like such. */
  readonly redact?: boolean
  /**
   * Called with each session once it is written, and the places of it that could not be read: the same ones in every format. An export of all
   * sessions also calls it with those of which nothing can be read, and continues without them.
   */
  readonly onSession?: (session: string, damage: readonly DamagedPlace[], isExported: boolean) => void
}

/**
 * Exports sessions as text, in pieces: for another store, for other programs, or for people.
 *
 * @example for await (const piece of exportFrom(store, { session: 'support-42', format: 'markdown' })) process.stdout.write(piece)
 * @throws HoldfastError NOT_FOUND if there is no such session; INVALID_ARGUMENT if there is no such format.
 */
export async function* exportFrom(store: Store, options: ExportOptions = {}): AsyncGenerator<string> {
  const { parts } = store
  const { format = 'jsonl' } = options
  if (!EXPORT_FORMATS.includes(format)) {
    throw new HoldfastError('INVALID_ARGUMENT', `There is no format "${format}". There are ${EXPORT_FORMATS.join(', ')}.`)
  }
  const sessions = await chosen(parts, options)
  const clean = options.redact === true ? await redactorToRead(parts) : <T extends Json>(value: T): T => value
  if (format === 'html') yield htmlStart(options.session ?? 'Sessions')
  for (const session of sessions) {
    if (format === 'jsonl') yield* asLines(parts, session, new Set(sessions), options, clean)
    else yield* asPage(parts, session, format, options, clean)
  }
  if (format === 'html') yield HTML_END
}

/** Ids, each behind the one that it comes from. */
async function chosen(parts: StoreParts, { session, tree = false, onSession }: ExportOptions): Promise<string[]> {
  if (session !== undefined) return tree ? idsIn(await new Session(parts, session).tree()) : [session]
  const parents = new Map<string, string | undefined>()
  for await (const name of parts.engine.names(parts.space)) {
    const { replica } = parts.replicas.once(name)
    const { state } = await replica.read()
    // Nothing of it can be exported. That is reported, and the others are.
    if (replica.loss?.as === 'identity' || (state.status === 'absent' && isDamaged(replica.damage))) {
      onSession?.(idOf(parts, name), knownPlaces(replica), false)
      continue
    }
    if (state.status === 'live' && state.id !== null) parents.set(state.id, state.parent?.session)
  }
  const ordered = new Set<string>()
  const add = (id: string): void => {
    const parent = parents.get(id)
    if (parent !== undefined && parents.has(parent) && !ordered.has(parent)) add(parent)
    ordered.add(id)
  }
  for (const id of [...parents.keys()].sort()) add(id)
  return [...ordered]
}

function idsIn({ session, status, children }: TreeNode): string[] {
  return [...(status === 'deleted' ? [] : [session]), ...children.flatMap(idsIn)]
}

async function* asLines(
  parts: StoreParts,
  session: string,
  included: ReadonlySet<string>,
  options: ExportOptions,
  clean: Redact,
): AsyncGenerator<string> {
  const reader = new ItemReader(parts, session, included)
  let [count, text] = [0, '']
  for await (const items of reader.read()) {
    for (const item of items) {
      count++
      text += `${lineOf(options.redact === true ? redacted(item, clean) : item)}\n`
    }
    if (text.length < 65_536) continue
    yield text
    text = ''
  }
  yield `${text}${endLine(count)}\n`
  if (options.onSession !== undefined) options.onSession(session, await damageOf(parts, session), true)
}

/** Ids stay: they are what items are told by. */
function redacted(item: Item, clean: Redact): Item {
  const { kind, session, ...rest } = item
  const kept = 'id' in item ? { id: item.id } : {}
  return { kind, session, ...clean(rest as unknown as JsonObject), ...kept } as Item
}

async function* asPage(
  parts: StoreParts,
  exported: string,
  format: Exclude<ExportFormat, 'jsonl'>,
  options: ExportOptions,
  clean: Redact,
): AsyncGenerator<string> {
  const session = new Session(parts, exported)
  const info = await session.info()
  if (format === 'openai' || format === 'anthropic') {
    const messages: JsonObject[] = []
    for await (const { message } of all(session)) messages.push(clean(message))
    yield `${JSON.stringify({
      messages: convert(
        format,
        messages.map((message) => ({ message, view: viewOf(message) })),
      ),
    })}\n`
  } else {
    const [head, archive, message] =
      format === 'html' ? [htmlHead, htmlArchive, htmlMessage] : [markdownHead, markdownArchive, markdownMessage]
    const { id, title, createdAt, updatedAt, totalMessageCount: messageCount } = info
    yield head({ session: id, title: clean(title), createdAt, updatedAt, messageCount })
    const overviews = new Map((await session.archives()).map(({ number, overview }) => [number, overview]))
    let last: number | null = null
    for await (const stored of all(session)) {
      const overview: string | null | undefined = stored.archive === null || stored.archive === last ? null : overviews.get(stored.archive)
      if (stored.archive !== null && overview) yield archive(stored.archive, clean(overview))
      last = stored.archive
      yield message({ ...stored, view: viewOf(clean(stored.message)) })
    }
    if (format === 'markdown') yield '\n'
  }
  if (options.onSession !== undefined) options.onSession(exported, await damageOf(parts, exported), true)
}

/** All damage of a session: its journal is read for it, as records that are no messages may be lost too. */
async function damageOf(parts: StoreParts, session: string): Promise<DamagedPlace[]> {
  return (await new Handle(parts, session).transcript()).allDamage()
}

async function* all(session: Session): AsyncGenerator<StoredMessage> {
  for (let after: string | undefined; ; ) {
    const where = after === undefined ? { from: 'start' as const } : { after }
    const { messages, more } = await session.messages({ ...where, archived: true, limit: LIMITS.pageMessages })
    yield* messages
    after = messages.at(-1)?.id
    if (!more || after === undefined) return
  }
}
