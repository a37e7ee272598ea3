/** Sessions as they stand in JSON, over HTTP and with `--json`; and back. */

import type { SessionInfo } from '../session/info.ts'
import type { DamagedPlace } from '../store/damage/damage.ts'
import type { Shared } from '../store/sharing/shares.ts'
import type { TreeNode } from '../store/tree.ts'
import {
  as,
  type Codec,
  count,
  type Describes,
  described,
  exactly,
  flag,
  ifAny,
  jsonObject,
  list,
  mapped,
  nested,
  nullable,
  object,
  oneOf,
  optional,
  sent,
  text,
  time,
  type WireOf,
} from './codec.ts'
import { placesCodec } from './damage.ts'
import { nextCursor } from './names.ts'

export const snapshotCodec = object(
  { name: text, takenAt: time, messageCount: count, current: flag },
  { name: 'Snapshot' },
) satisfies Describes<SessionInfo['snapshots'][number]>

export const shareCodec = object(
  { id: as('share_id', text), grantedAt: time, expiresAt: nullable(time), messageCount: count },
  { name: 'Share' },
) satisfies Describes<SessionInfo['shares'][number]>

/** A time that a session may not have: empty inside, null outside. */
const timeIfAny = mapped(
  nullable(time),
  (at: string) => (at === '' ? null : at),
  (at) => at ?? '',
)

/** Outside, the parent of a session is three fields. */
export const sessionCodec = mapped(
  object(
    {
      id: as('session_id', text),
      status: oneOf('ok', 'damaged', 'unreadable', 'deleted'),
      version: text,
      title: nullable(text),
      tags: list(text),
      owner: nullable(text),
      workspace: nullable(text),
      metadata: jsonObject,
      policies: jsonObject,
      createdAt: timeIfAny,
      updatedAt: timeIfAny,
      deletedAt: nullable(time),
      parent: nullable(text),
      parentKind: nullable(oneOf('fork', 'child')),
      parentMessageId: nullable(text),
      messageCount: count,
      pendingTokens: count,
      totalMessageCount: count,
      totalTokens: count,
      commitCount: count,
      snapshots: list(snapshotCodec),
      shares: list(shareCodec),
      canUndo: flag,
    },
    { name: 'Session' },
  ),
  ({ parent, ...info }: SessionInfo) => ({
    ...info,
    parent: parent?.session ?? null,
    parentKind: parent?.kind ?? null,
    parentMessageId: parent?.message ?? null,
  }),
  ({ parent, parentKind: kind, parentMessageId: message, ...info }): SessionInfo => ({
    ...info,
    parent: parent === null || kind === null ? null : { session: parent, kind, message },
  }),
)

/** A session that was just created. */
export const createdCodec = object({ session: as('session_id', text) })

export type SessionFields = WireOf<typeof sessionCodec>

/** A share that was just granted, with its token. */
export const newShareCodec = object(
  {
    session: sent(as('session_id', text)),
    version: text,
    duplicate: flag,
    share: as('share_id', text),
    token: text,
    expiresAt: sent(nullable(time)),
  },
  { name: 'NewShare' },
) satisfies Describes<Shared, { readonly session: string; readonly expiresAt: string | null }>

const node = {
  session: as('session_id', text),
  version: text,
  kind: oneOf('root', 'fork', 'child'),
  title: nullable(text),
  status: oneOf('ok', 'damaged', 'unreadable', 'deleted'),
  message: as('message_id', nullable(text)),
  damage: ifAny(placesCodec),
  continued: optional(described(exactly(true), 'it was on an earlier page; this one has more of its children')),
}

/** One session of a tree. */
export const nodeCodec = object(node)

export type TreeFields = WireOf<typeof nodeCodec> & { readonly children: readonly TreeFields[] }

const children = list(nested((): Codec<TreeNode, TreeFields> => treeCodec, 'the same, of those that come from it'))

/** A session with those that come from it, and those that come from them. */
export const treeCodec: Codec<TreeNode, TreeFields> = object({ ...node, children }, { name: 'Tree' })

/** A page of a tree. The client takes the cursor from the header, as of every page. */
export const treePageCodec = object({ ...node, children, cursor: nextCursor }, { name: 'TreePage' })

/** What is damaged anywhere in a tree. Every place names its session, but for those of the root itself. */
export function damageInTree(root: TreeNode): DamagedPlace[] {
  const below = (node: TreeNode): DamagedPlace[] => [
    ...node.damage.map((place) => ({ session: node.session, ...place })),
    ...node.children.flatMap(below),
  ]
  return [...root.damage, ...root.children.flatMap(below)]
}
