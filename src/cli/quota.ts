/** `quota`: how much a space may hold and add, or a key of a server; and `retention`: how long a space keeps things. */

import { withoutUndefined } from '../server/without-undefined.ts'
import { quotaUsageCodec, retentionCodec } from '../wire/operations.ts'
import { wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'

interface Options {
  readonly sessions?: number
  readonly bytes?: number
  readonly messagesPerMinute?: number
  readonly key?: string
  readonly clear?: boolean
}

export async function quota(context: Context, _: [], { sessions, bytes, messagesPerMinute, key, clear = false }: Options): Promise<void> {
  const wanted = withoutUndefined({ sessions, bytes, messagesPerMinute })
  const isSetting = Object.keys(wanted).length > 0
  if (clear && isSetting) throw wrongUsage('Set limits, or clear them; not both.')
  const store = await (isSetting || clear ? context.write() : context.read())
  // What is not named stays as it is.
  const kept = isSetting ? await store.quota(withoutUndefined({ key })) : {}
  const told = await (isSetting || clear
    ? store.setQuota({ ...kept, ...wanted }, withoutUndefined({ key }))
    : store.quota(withoutUndefined({ key })))
  const fields = quotaUsageCodec.encode({ ...told, used: await store.quotaUsage(withoutUndefined({ key })) })
  const { used } = fields
  const shown = (limit: number | null, of?: number): string => `${of === undefined ? '' : `${of} of `}${limit ?? 'any number'}`
  await context.out.result(
    fields,
    () =>
      `sessions: ${shown(fields.sessions, used?.sessions)}  bytes: ${shown(fields.bytes, used?.bytes)}  messages a minute: ${shown(fields.messages_per_minute)}`,
  )
}

interface RetentionOptions {
  readonly idle?: number
  readonly archives?: number
  readonly deleted?: number
  readonly clear?: boolean
}

export async function retention(context: Context, _: [], { idle, archives, deleted, clear = false }: RetentionOptions): Promise<void> {
  const wanted = withoutUndefined({ deleteIdleAfterMs: idle, dropArchivesAfterMs: archives, purgeDeletedAfterMs: deleted })
  const isSetting = Object.keys(wanted).length > 0
  if (clear && isSetting) throw wrongUsage('Set times, or clear them; not both.')
  const store = await (isSetting || clear ? context.write() : context.read())
  const kept = isSetting ? await store.retention() : {}
  const told = await (isSetting || clear ? store.setRetention({ ...kept, ...wanted }) : store.retention())
  await context.out.result(retentionCodec.encode(told), () =>
    [
      `idle sessions: ${lasting(told.deleteIdleAfterMs, 'deleted')}`,
      `messages of archives: ${lasting(told.dropArchivesAfterMs, 'erased')}`,
      `deleted sessions: ${lasting(told.purgeDeletedAfterMs, 'purged')}`,
    ].join('  '),
  )
  if (isSetting) context.out.note('Nothing has happened yet: `holdfast expire --dry-run` tells what would, `holdfast expire` does it.')
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const

/** In the largest unit that fits, as it can be given. */
function lasting(ms: number | undefined, fate: string): string {
  if (ms === undefined) return 'kept'
  const [unit, length] = UNITS.find(([, one]) => ms >= one && ms % one === 0) ?? ['s', 1000]
  return `${fate} after ${ms / length}${unit}`
}
