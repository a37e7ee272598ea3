/** `quota`: how much a space may hold and add, or a key of a server. */
import { quotaFields } from '../wire/operations.ts'
import { given, wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'

interface Options {
  readonly sessions?: number
  readonly bytes?: number
  readonly messagesPerMinute?: number
  readonly key?: string
  readonly clear?: boolean
}

export async function quota(context: Context, _: [], { sessions, bytes, messagesPerMinute, key, clear = false }: Options): Promise<void> {
  const wanted = given({ sessions, bytes, messagesPerMinute })
  const isSetting = Object.keys(wanted).length > 0
  if (clear && isSetting) throw wrongUsage('Set limits, or clear them; not both.')
  const store = await (isSetting || clear ? context.write() : context.read())
  const told = await (isSetting || clear ? store.setQuota(wanted, given({ key })) : store.quota(given({ key })))
  const fields = quotaFields(told)
  const shown = (limit: number | null): string => (limit === null ? 'any number' : String(limit))
  await context.out.result(
    fields,
    () => `sessions: ${shown(fields.sessions)}  bytes: ${shown(fields.bytes)}  messages a minute: ${shown(fields.messages_per_minute)}`,
  )
}
