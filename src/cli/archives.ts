/** `archives`: what commits have moved out of the way; all of a session, or one with its overview and its messages. */

import { HoldfastError } from '../errors.ts'
import type { JsonObject } from '../record/record.ts'
import type { DamagedPlace } from '../store/damage/damage.ts'
import type { ArchiveInfo, WholeArchive } from '../store/task-info.ts'
import { damageField, distinctPlaces } from '../wire/damage.ts'
import { messageCodec } from '../wire/messages.ts'
import { archiveName } from '../wire/names.ts'
import { archiveCodec } from '../wire/tasks.ts'
import type { Context } from './context.ts'
import { warnOfDamage } from './damage.ts'
import { indented, messageText } from './message-text.ts'
import type { Output } from './output.ts'
import { inLine, relativeTime } from './terminal.ts'

export async function archives(context: Context, [id, number]: [string, number?]): Promise<void> {
  if (number !== undefined) return one(context, id, number)
  const { out } = context
  const session = (await context.read()).session<JsonObject>(id)
  const all = await session.archives()
  // A list of archives has no field for damage; the root of the tree has what the state of the session knows.
  warnOfDamage(out, id, (await session.tree({ limit: 1 })).damage)
  for (const archive of all) {
    const { abstract } = archive
    await out.result(archiveCodec.encode({ session: id, ...archive }), (colours) => {
      const head = headOf(archive)
      return `${archive.status === 'failed' ? colours.red(head) : colours.bold(head)}${abstract === null ? '' : `\n  ${inLine(abstract)}`}`
    })
  }
  if (all.length === 0) out.note(`"${id}" has no archives.`)
}

/** One archive. With --json, each page of its messages is an object of its own, as the server sends it. */
async function one(context: Context, id: string, number: number): Promise<void> {
  const { out, signal } = context
  const session = (await context.read()).session<JsonObject>(id)
  const places: DamagedPlace[] = []
  for (let cursor: string | null | undefined; cursor !== null && !signal.aborted; ) {
    const archive: WholeArchive<JsonObject> | undefined = await session.archive(number, { cursor })
    if (archive === undefined) throw noArchive(id, number)
    await printPage(out, id, archive, cursor === undefined)
    places.push(...archive.damage)
    cursor = archive.cursor
  }
  warnOfDamage(out, id, distinctPlaces(places))
}

async function printPage(out: Output, id: string, archive: WholeArchive<JsonObject>, isFirst: boolean): Promise<void> {
  const { messages, overview, abstract, cursor, damage } = archive
  const fields = {
    ...archiveCodec.encode({ session: id, ...archive }),
    overview,
    messages: messages.map(messageCodec.encode),
    next_cursor: cursor,
    ...damageField(damage),
  }
  if (out.json || isFirst || messages.length > 0)
    await out.result(fields, (colours) => {
      const summary = overview === null ? [] : [`${colours.bold('overview')}\n${indented(overview)}`]
      const head = `${headOf(archive)}${abstract === null ? '' : `\n${indented(abstract)}`}`
      return [...(isFirst ? [head, ...summary] : []), ...messages.map((message) => messageText(message, colours))].join('\n')
    })
}

function noArchive(id: string, number: number): HoldfastError {
  return new HoldfastError('NOT_FOUND', `There is no archive ${number} in "${id}".`, {
    details: { reason: 'no archive', session_id: id, archive_id: archiveName(number) },
  })
}

function headOf({ number, status, messageCount, createdAt, error }: ArchiveInfo): string {
  const facts = [
    `archive ${number}`,
    messageCount === 1 ? '1 message' : `${messageCount} messages`,
    relativeTime(createdAt, Date.now()),
    status,
  ]
  return inLine(`${facts.join('  ')}${error === null ? '' : `: ${error.message}`}`)
}
