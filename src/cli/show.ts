/** `show`: the messages of a session, oldest first; with --follow also those that come. */

import { shellWord } from '../journal/command-words.ts'
import { LIMITS } from '../record/limits.ts'
import type { JsonObject } from '../record/record.ts'
import type { SessionApi } from '../store/api/session-api.ts'
import type { DamagedPlace } from '../store/damage/damage.ts'
import type { Change } from '../store/messages/follow.ts'
import type { KeptMessage } from '../store/messages/stored-message.ts'
import { distinctPlaces } from '../wire/damage.ts'
import { messageCodec } from '../wire/messages.ts'
import type { Context } from './context.ts'
import { warnOfDamage } from './damage.ts'
import { messageText } from './message-text.ts'
import type { Output } from './output.ts'

interface Options {
  readonly limit?: number
  readonly before?: string
  readonly archived?: boolean
  readonly follow?: boolean
}

export async function show(context: Context, [id]: [string], options: Options): Promise<void> {
  const { out, signal } = context
  const session = (await context.read()).session<JsonObject>(id)
  // Followed from before the first page is read, so that nothing falls between them; what is in both is shown once.
  const changes = options.follow === true ? session.follow({ signal }) : undefined
  const coming = changes?.next()
  coming?.catch(() => undefined)
  const { status, version, totalMessageCount, commitCount } = await session.info()
  const complete = options.before === undefined && options.limit === undefined
  const gaps = new Gaps(options.archived === true || commitCount === 0, complete ? 0 : undefined)
  const shown = new Set<string>()
  const damage: DamagedPlace[] = []
  const wanted = options.limit === undefined ? all(session, options, damage) : newest(session, options.limit, options, damage)
  for await (const message of wanted) {
    if (signal.aborted) return
    gaps.take(message.depth)
    if (changes !== undefined) shown.add(message.id)
    await print(out, message)
  }
  // Where the session changed meanwhile, the count of before does not tell what should have been there.
  if (complete && (await session.version()) === version) gaps.take(totalMessageCount + 1)
  await report(out, id, status === 'damaged', distinctPlaces(damage), gaps.missing)
  if (changes === undefined || coming === undefined) return
  out.note('Waiting for messages; Ctrl-C ends.')
  for (let next = await coming; next.done !== true && !signal.aborted; next = await changes.next()) {
    await printChange(context, session, next.value, shown)
  }
}

/** All of them, in pages from the first one on. */
async function* all(
  session: SessionApi<JsonObject>,
  { before, archived = false }: Options,
  damage: DamagedPlace[],
): AsyncGenerator<KeptMessage> {
  // Whether there is such a message is told before anything is printed.
  if (before !== undefined) await session.messages({ before, archived, limit: 1 })
  for (let after: string | undefined; ; ) {
    const where = after === undefined ? { from: 'start' as const } : { after }
    const page = await session.messages({ ...where, archived, limit: LIMITS.pageMessages })
    const { messages, more } = page
    damage.push(...page.damage)
    for (const message of messages) {
      if (message.id === before) return
      yield message
    }
    after = messages.at(-1)?.id
    if (!more || after === undefined) return
  }
}

/** The last ones. They are read from the end, and may be more than a page. */
async function* newest(
  session: SessionApi<JsonObject>,
  limit: number,
  { before: end, archived = false }: Options,
  damage: DamagedPlace[],
): AsyncGenerator<KeptMessage> {
  if (limit === 0) {
    // A session that does not exist is refused in any case.
    await session.info()
    return
  }
  const pages: (readonly KeptMessage[])[] = []
  let before = end
  for (let left = limit; ; ) {
    const where = before === undefined ? {} : { before }
    const page = await session.messages({ ...where, archived, limit: Math.min(left, LIMITS.pageMessages) })
    const { messages, more } = page
    damage.push(...page.damage)
    pages.unshift(messages)
    left -= messages.length
    before = messages[0]?.id
    if (!more || left === 0 || before === undefined) break
  }
  for (const page of pages) yield* page
}

/** Counts messages that should be there and are not: on one branch their depths follow one another, unless archives hold some. */
class Gaps {
  missing = 0
  readonly #counts: boolean
  #last: number | undefined

  /** `last`: the depth of the message in front of the first one, if that is known. */
  constructor(counts: boolean, last: number | undefined) {
    this.#counts = counts
    this.#last = last
  }

  take(depth: number): void {
    if (this.#counts && this.#last !== undefined) this.missing += Math.max(depth - this.#last - 1, 0)
    this.#last = depth
  }
}

/** `missing`: how many depths were skipped, which is known even where a place cannot say how many messages it held. */
async function report(out: Output, id: string, damaged: boolean, damage: readonly DamagedPlace[], missing: number): Promise<void> {
  if (damage.length > 0) {
    return warnOfDamage(out, id, damage, missing)
  }
  if (!damaged && missing === 0) return
  const what = missing === 0 ? `"${id}" is damaged` : `${missing === 1 ? '1 message is' : `${missing} messages are`} missing in "${id}"`
  out.warn(`${what}. Run \`holdfast doctor ${shellWord(id)}\` to see where.`, { session_id: id, missing })
}

async function printChange(
  { out }: Context,
  session: SessionApi<JsonObject>,
  change: Change<JsonObject>,
  shown: ReadonlySet<string>,
): Promise<void> {
  for (const { id, message } of change.messages) {
    if (!shown.has(id)) await print(out, { id, at: change.at, archive: null, message })
  }
  if (change.type === 'message.replaced') {
    const replaced = await session.message(String(change.record.target))
    if (replaced !== undefined) await print(out, replaced)
  } else if (change.type === 'damage') {
    warnOfDamage(out, session.id, change.damage)
  } else if (change.type === 'reset') {
    out.warn('What came meanwhile was missed. Run `holdfast show` again.', { session_id: session.id })
  } else if (change.type === 'head.moved') {
    out.note('The session was reverted: what comes now follows an earlier message.')
  } else if (change.type === 'session.deleted') out.note('The session was deleted.')
}

async function print(out: Output, message: Parameters<typeof messageCodec.encode>[0]): Promise<void> {
  await out.result(messageCodec.encode(message), (colours) => messageText(message, colours))
}
