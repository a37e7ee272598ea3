/** `share`, `shares` and `unshare`: a token lets its holder read a session as it was when it was shared. */

import { withoutUndefined } from '../server/without-undefined.ts'
import { newShareCodec, shareCodec } from '../wire/sessions.ts'
import type { Context } from './context.ts'
import { relativeTime } from './terminal.ts'

interface ShareOptions {
  readonly expires?: number
  readonly redact?: boolean
}

export async function share(context: Context, [id]: [string], { expires, redact }: ShareOptions): Promise<void> {
  const session = (await context.write()).session(id)
  const expiresAt = expires === undefined ? undefined : new Date(Date.now() + expires)
  const granted = await session.share(withoutUndefined({ expiresAt, redact }))
  const { duplicate: _, ...fields } = newShareCodec.encode({ session: id, ...granted, expiresAt: expiresAt?.toISOString() ?? null })
  await context.out.result(fields, () => granted.token)
  const until =
    expiresAt === undefined ? 'until it is revoked' : `for ${relativeTime(expiresAt.toISOString(), Date.now()).replace('in ', '')}`
  context.out.note(`The token is shown this once and is good ${until}: \`holdfast unshare\` with ${granted.share} revokes it.`)
}

export async function shares(context: Context, [id]: [string]): Promise<void> {
  const { out } = context
  const session = (await context.read()).session(id)
  const { shares: granted } = await session.info()
  const now = Date.now()
  await out.results(
    granted,
    (one) => ({ session_id: id, ...shareCodec.encode(one) }),
    [{ title: 'SHARE', shrinks: true }, { title: 'MESSAGES', align: 'right' }, { title: 'GRANTED' }, { title: 'EXPIRES' }],
    (one) => [
      one.id,
      String(one.messageCount),
      relativeTime(one.grantedAt, now),
      one.expiresAt === null ? 'never' : Date.parse(one.expiresAt) <= now ? 'expired' : relativeTime(one.expiresAt, now),
    ],
  )
  if (granted.length === 0) out.note(`"${id}" is not shared.`)
}

export async function unshare(context: Context, [id, shareId]: [string, string]): Promise<void> {
  const session = (await context.write()).session(id)
  const { version } = await session.unshare(shareId)
  await context.out.result({ session_id: id, version })
  context.out.note(`Revoked the share ${shareId}.`)
}
