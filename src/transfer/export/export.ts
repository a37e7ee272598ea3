/** Exporting: sessions as text, for other programs, for people, and for another store. */

import { idOf } from '../../engine/session-id-of.ts'
import { endLine, lineOf } from '../../formats/holdfast.ts'
import type { Item } from '../../formats/item.ts'
import { HTML_END, htmlArchive, htmlHead, htmlMessage, htmlStart } from '../../formats/render/html.ts'
import { markdownArchive, markdownHead, markdownMessage } from '../../formats/render/markdown.ts'
import { convert } from '../../message/formats.ts'
import { viewOf } from '../../message/message.ts'
import type { Redact } from '../../message/redact.ts'
import { isDamaged } from '../../record/damage.ts'
import type { Json, JsonObject } from '../../record/record.ts'
import { checkChoice, checkId } from '../../session/check.ts'
import { type DamagedPlace, knownPlaces } from '../../store/damage/damage.ts'
import { Handle } from '../../store/handle.ts'
import { redactorToRead } from '../../store/keys/fingerprint-key.ts'
import type { SessionParts, StoreParts } from '../../store/parts.ts'
import { Session } from '../../store/session.ts'
import { partsOf, type Store } from '../../store/store.ts'
import type { TreeNode, TreePage } from '../../store/tree.ts'
import { allMessages } from '../all-messages.ts'
import { ItemReader } from './items.ts'

export const EXPORT_FORMATS = ['jsonl', 'markdown', 'html', 'openai', 'anthropic'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

export interface ExportOptions {
  /** The session to export. Defaults to all. */
  readonly session?: string
  /** Whether to include the forks and children of that session, and theirs. Defaults to false. */
  readonly tree?: boolean
  /** Defaults to `jsonl`, which has everything and can be imported again. */
  readonly format?: ExportFormat
  /** Removes keys, tokens and passwords of known forms. Defaults to false. */
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
 * @param options `session` defaults to all sessions. `format` defaults to `jsonl`, which you can import again. `tree` and `redact` default to false.
 * @returns The text, in pieces.
 * @throws HoldfastError NOT_FOUND when there is no such session.
 * @throws HoldfastError INVALID_ARGUMENT when there is no such format.
 * @example
 * for await (const piece of exportFrom(store, { session: 'support-42', format: 'markdown' })) process.stdout.write(piece)
 */
export async function* exportFrom(store: Store, options: ExportOptions = {}): AsyncGenerator<string> {
  const parts = partsOf(store, '`store.export()`')
  const { format = 'jsonl' } = options
  checkChoice('format', format, EXPORT_FORMATS)
  if (options.session !== undefined) checkId('The id of a session', options.session)
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
  if (session !== undefined) return tree ? treeIds(new Session(parts, session)) : [session]
  const parents = new Map<string, string | undefined>()
  for await (const name of parts.engine.names(parts.space)) {
    const { replica } = parts.replicas.once(name)
    const { state } = await replica.read()
    // Nothing of it can be exported. That is reported, and the others are.
    const isUnnamed = state.status === 'absent' || state.id === null
    if (replica.loss?.as === 'identity' || (isUnnamed && isDamaged(replica.damage))) {
      onSession?.(idOf(parts, name), knownPlaces(replica), false)
      continue
    }
    if (state.status === 'live' && state.id !== null) parents.set(state.id, state.parent?.session)
  }
  return parentsFirst(parents)
}

/** Of two sessions, each can come from the other: one of them was deleted and created again. */
function parentsFirst(parents: ReadonlyMap<string, string | undefined>): string[] {
  const ordered = new Set<string>()
  for (const id of [...parents.keys()].sort()) {
    const chain = new Set<string>()
    for (let next: string | undefined = id; next !== undefined && parents.has(next); next = parents.get(next)) {
      if (ordered.has(next) || chain.has(next)) break
      chain.add(next)
    }
    for (const above of [...chain].reverse()) ordered.add(above)
  }
  return [...ordered]
}

/** The sessions of a tree, but for the deleted ones. */
async function treeIds(root: Session): Promise<string[]> {
  const ids = new Set<string>()
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: TreePage = await root.tree({ cursor })
    for (const id of idsIn(page)) ids.add(id)
    cursor = page.cursor
  }
  return [...ids]
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
  const session = new Session<JsonObject>(parts, exported)
  const info = await session.info()
  if (format === 'openai' || format === 'anthropic') {
    const messages: JsonObject[] = []
    for await (const { message } of allMessages((page) => session.messages(page))) messages.push(clean(message))
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
    for await (const stored of allMessages((page) => session.messages(page))) {
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
async function damageOf(parts: SessionParts, session: string): Promise<DamagedPlace[]> {
  return (await new Handle(parts, session).transcript()).allDamage()
}
