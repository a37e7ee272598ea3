/** `archives`: what commits have moved out of the way; all of a session, or one with its overview and its messages. */
import { HoldfastError } from '../errors.ts'
import type { ArchiveInfo } from '../store/tasks.ts'
import { damageField } from '../wire/damage.ts'
import { messageFields } from '../wire/messages.ts'
import { archiveName } from '../wire/names.ts'
import { archiveFields } from '../wire/tasks.ts'
import type { Context } from './context.ts'
import { warnOfDamage } from './damage.ts'
import { indented, messageText } from './message-text.ts'
import { inLine, relativeTime } from './terminal.ts'

export async function archives(context: Context, [id, number]: [string, number?]): Promise<void> {
  const { out } = context
  const session = (await context.read()).session(id)
  if (number !== undefined) {
    const archive = await session.archive(number)
    if (archive === undefined) {
      throw new HoldfastError('NOT_FOUND', `There is no archive ${number} in "${id}".`, {
        details: { session_id: id, archive_id: archiveName(number) },
      })
    }
    const { messages, overview, abstract, damage } = archive
    warnOfDamage(out, id, damage)
    const fields = { ...archiveFields(id, archive), overview, messages: messages.map(messageFields), ...damageField(damage) }
    return out.result(fields, (colours) => {
      const summary = overview === null ? [] : [`${colours.bold('overview')}\n${indented(overview)}`]
      const line = abstract === null ? '' : `\n${indented(abstract)}`
      return [`${headOf(archive)}${line}`, ...summary, ...messages.map((message) => messageText(message, colours))].join('\n')
    })
  }
  const all = await session.archives()
  // A list of archives has no field for damage; the root of the tree has what the state of the session knows.
  warnOfDamage(out, id, (await session.tree()).damage)
  for (const archive of all) {
    const { abstract } = archive
    await out.result(archiveFields(id, archive), (colours) => {
      const head = headOf(archive)
      return `${archive.status === 'failed' ? colours.red(head) : colours.bold(head)}${abstract === null ? '' : `\n  ${inLine(abstract)}`}`
    })
  }
  if (all.length === 0) out.note(`"${id}" has no archives.`)
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
