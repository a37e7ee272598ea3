/** `usage`: what calls to models took, of one session or of all. */

import type { Usage } from '../session/state.ts'
import type { StoreApi } from '../store/api/store-api.ts'
import { usageCodec } from '../wire/operations.ts'
import type { Context } from './context.ts'

export async function usage(context: Context, [id]: [string?]): Promise<void> {
  const { out } = context
  const store = await context.read()
  const used = id === undefined ? await totalOf(context, store) : await store.session(id).usage()
  await out.results(
    used,
    (one) => ({ ...(id === undefined ? {} : { session_id: id }), ...usageCodec.encode(one) }),
    [
      { title: 'MODEL', shrinks: true },
      { title: 'CALLS', align: 'right' },
      { title: 'INPUT', align: 'right' },
      { title: 'OUTPUT', align: 'right' },
    ],
    ({ model, calls, inputTokens, outputTokens }) => [model, String(calls), String(inputTokens), String(outputTokens)],
  )
  if (used.length === 0) out.note('No calls to models are recorded.')
}

async function totalOf({ out }: Context, store: StoreApi): Promise<readonly Usage[]> {
  const { usage: used, sessions } = await store.stats()
  if (sessions.unreadable > 0)
    out.warn(`${sessions.unreadable} sessions cannot be read and are not counted.`, { sessions: sessions.unreadable })
  return used
}
