/** `keys`: who may come in at a server. Of a store here, keys of any space; at a server, those of the space that one's own key opens. */
import type { NewKeyOptions, RemoteStore } from '../client/store.ts'
import { ApiKeys } from '../server/api-keys.ts'
import { withoutUndefined } from '../server/without-undefined.ts'
import { type KeyInfo, keyCodec, newKeyCodec } from '../wire/access.ts'
import { wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'
import { relativeTime } from './terminal.ts'

interface Options {
  readonly scope?: KeyInfo['scope']
  readonly owner?: string
  readonly name?: string
  readonly expires?: number
  readonly replaces?: string
  readonly space?: string
}

/** What there is to do with keys, wherever they are. */
interface Keys {
  createKey(options: NewKeyOptions): Promise<KeyInfo & { readonly key: string }>
  keys(): Promise<KeyInfo[]>
  revokeKey(id: string): Promise<KeyInfo>
}

export async function keys(context: Context, [action, id]: ['create' | 'list' | 'revoke', string?], options: Options): Promise<void> {
  const { out } = context
  const ring = await openKeys(context, options.space)
  if (action === 'list') return list(context, await ring.keys())
  if (action === 'revoke') {
    if (id === undefined) throw wrongUsage('Name the key to revoke by its id: `holdfast keys list` tells it.')
    const revoked = await ring.revokeKey(id)
    await out.result(keyCodec.encode(revoked))
    return out.note(`Revoked ${id}. Servers notice within a second.`)
  }
  const { scope, owner, name, expires, replaces } = options
  const expiresAt = expires === undefined ? undefined : new Date(Date.now() + expires)
  const made = await ring.createKey(withoutUndefined({ scope, owner, name, replaces, expiresAt }))
  await out.result(newKeyCodec.encode(made), () => made.key)
  out.note(`The key is shown this once. \`holdfast keys revoke ${made.id}\` ends it.`)
}

async function openKeys(context: Context, space = 'default'): Promise<Keys> {
  const store = await context.local()
  if (store === undefined) return (await context.write()) as RemoteStore
  const ring = new ApiKeys(store)
  return {
    createKey: async ({ overlapSeconds = 86_400, ...wanted }) => {
      const { key, record } = await ring.create({ space, overlapMs: overlapSeconds * 1000, ...wanted })
      return { ...record, key }
    },
    keys: () => ring.list(),
    revokeKey: (id) => ring.revoke(id),
  }
}

async function list({ out }: Context, found: readonly KeyInfo[]): Promise<void> {
  const now = Date.now()
  await out.results(
    found,
    keyCodec.encode,
    [
      { title: 'KEY' },
      { title: 'SPACE', shrinks: true },
      { title: 'SCOPE' },
      { title: 'OWNER', shrinks: true },
      { title: 'NAME', shrinks: true },
      { title: 'CREATED', style: out.colours.dim },
      { title: 'STATUS', style: out.colours.yellow },
    ],
    ({ id, space, scope, owner, name, createdAt, expiresAt, revokedAt }) => [
      id,
      space,
      scope,
      owner ?? '',
      name ?? '',
      relativeTime(createdAt, now),
      revokedAt !== null ? 'revoked' : expiresAt === null ? '' : Date.parse(expiresAt) <= now ? 'expired' : relativeTime(expiresAt, now),
    ],
  )
  if (found.length === 0) out.note('No keys. `holdfast keys create` makes one.')
}
