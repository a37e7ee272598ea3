/** `list`: the sessions of a store. Those that cannot be read are among them, flagged. */

import { withoutUndefined } from '../server/without-undefined.ts'
import type { SessionInfo } from '../session/info.ts'
import type { ListOptions } from '../store/list.ts'
import { sessionCodec } from '../wire/sessions.ts'
import { withCatalogProgress } from './catalog-progress.ts'
import type { Context } from './context.ts'
import { plural } from './plural.ts'
import { collectSessions } from './sessions.ts'
import { relativeTime } from './terminal.ts'

export async function list(context: Context, _: [], options: Omit<ListOptions, 'status'> & { readonly deleted?: boolean }): Promise<void> {
  const { out } = context
  const store = await context.read()
  const { query, tag, owner, workspace, parent, deleted, order, limit, cursor: begin } = options
  const wanted = withoutUndefined({
    query,
    tag,
    owner,
    workspace,
    parent,
    status: deleted === true ? ('deleted' as const) : undefined,
    order,
    limit,
    cursor: begin,
  })
  const { sessions, cursor } = await withCatalogProgress(context, store, collectSessions(store, wanted))
  const now = Date.now()
  const { colours } = out
  await out.results(
    sessions,
    fieldsOf,
    [
      { title: 'ID', shrinks: true },
      { title: 'TITLE', shrinks: true },
      { title: 'MESSAGES', align: 'right' },
      { title: 'UPDATED', style: colours.dim },
      { title: 'TAGS', shrinks: true, style: colours.cyan },
      { title: 'STATUS', style: colours.yellow },
    ],
    (info) => [
      info.id,
      info.title ?? '',
      String(info.messageCount),
      relativeTime(info.updatedAt, now),
      info.tags.join(' '),
      info.status === 'ok' ? '' : info.status,
    ],
  )
  const ill = sessions.filter(({ status }) => status === 'damaged' || status === 'unreadable')
  if (ill.length > 0) {
    const ids = ill.map(({ id }) => id)
    out.warn(
      `${ill.length} of ${plural(sessions.length, 'session')} ${ill.length === 1 ? 'is' : 'are'} damaged or unreadable. Run \`holdfast doctor\`.`,
      {
        sessions: ids.slice(0, 100),
      },
    )
  }
  if (cursor !== null) out.aside({ next_cursor: cursor }, `There are more: --cursor ${cursor}`)
  if (sessions.length === 0) out.note('No sessions.')
}

/** What a list is looked at for; all there is to know of one session is a longer story. */
function fieldsOf(info: SessionInfo): object {
  const { session_id, title, message_count, total_message_count, updated_at, tags, parent, parent_kind, status } = sessionCodec.encode(info)
  return { session_id, title, message_count, total_message_count, updated_at, tags, parent, parent_kind, status }
}
