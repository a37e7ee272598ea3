/** Sessions as they stand in JSON, over HTTP and with `--json`; and back. */

import type { SessionInfo } from '../session/info.ts'
import type { DamagedPlace } from '../store/damage/damage.ts'
import type { TreeNode } from '../store/family.ts'
import type { Shared } from '../store/sharing/shares.ts'
import { damageField, damageIn } from './damage.ts'

export type SessionFields = ReturnType<typeof sessionFields>

export function sessionFields(info: SessionInfo) {
  return {
    session_id: info.id,
    status: info.status,
    version: info.version,
    title: info.title,
    tags: info.tags,
    owner: info.owner,
    workspace: info.workspace,
    metadata: info.metadata,
    policies: info.policies,
    created_at: info.createdAt === '' ? null : info.createdAt,
    updated_at: info.updatedAt === '' ? null : info.updatedAt,
    deleted_at: info.deletedAt,
    parent: info.parent?.session ?? null,
    parent_kind: info.parent?.kind ?? null,
    parent_message_id: info.parent?.message ?? null,
    message_count: info.messageCount,
    pending_tokens: info.pendingTokens,
    total_message_count: info.totalMessageCount,
    total_tokens: info.totalTokens,
    commit_count: info.commitCount,
    snapshots: info.snapshots.map(snapshotFields),
    shares: info.shares.map(shareFields),
    can_undo: info.canUndo,
  }
}

export function sessionInfo(fields: SessionFields): SessionInfo {
  const { parent, parent_kind: kind, parent_message_id: message } = fields
  return {
    id: fields.session_id,
    status: fields.status,
    version: fields.version,
    title: fields.title,
    tags: fields.tags,
    owner: fields.owner,
    workspace: fields.workspace,
    metadata: fields.metadata,
    policies: fields.policies,
    createdAt: fields.created_at ?? '',
    updatedAt: fields.updated_at ?? '',
    deletedAt: fields.deleted_at,
    parent: parent === null || kind === null ? null : { session: parent, kind, message },
    messageCount: fields.message_count,
    pendingTokens: fields.pending_tokens,
    totalMessageCount: fields.total_message_count,
    totalTokens: fields.total_tokens,
    commitCount: fields.commit_count,
    snapshots: fields.snapshots.map(({ name, taken_at, message_count, current }) => ({
      name,
      takenAt: taken_at,
      messageCount: message_count,
      current,
    })),
    shares: fields.shares.map(({ share_id, granted_at, expires_at, message_count }) => ({
      id: share_id,
      grantedAt: granted_at,
      expiresAt: expires_at,
      messageCount: message_count,
    })),
    canUndo: fields.can_undo,
  }
}

export function snapshotFields({ name, takenAt, messageCount, current }: SessionInfo['snapshots'][number]) {
  return { name, taken_at: takenAt, message_count: messageCount, current }
}

export function shareFields({ id, grantedAt, expiresAt, messageCount }: SessionInfo['shares'][number]) {
  return { share_id: id, granted_at: grantedAt, expires_at: expiresAt, message_count: messageCount }
}

export type SharedFields = ReturnType<typeof sharedFields>

/** A share that was just granted, with its token. */
export function sharedFields(session: string, { version, duplicate, share, token }: Shared, expiresAt: Date | undefined) {
  return { session_id: session, version, duplicate, share_id: share, token, expires_at: expiresAt?.toISOString() ?? null }
}

export interface TreeFields extends ReturnType<typeof nodeFields> {
  readonly children: readonly TreeFields[]
}

/** One session of a tree, without those that come from it. */
export function nodeFields({ session, version, kind, title, status, message, damage }: TreeNode) {
  return { session_id: session, version, kind, title, status, message_id: message, ...damageField(damage) }
}

export function treeFields(node: TreeNode): TreeFields {
  return { ...nodeFields(node), children: node.children.map(treeFields) }
}

export function treeNode(fields: TreeFields): TreeNode {
  const { session_id, version, kind, title, status, message_id, children } = fields
  const damage = damageIn(fields, null)
  return { session: session_id, version, kind, title, status, message: message_id, damage, children: children.map(treeNode) }
}

/** What is damaged anywhere in a tree. Every place names its session, but for those of the root itself. */
export function damageInTree(root: TreeNode): DamagedPlace[] {
  const below = (node: TreeNode): DamagedPlace[] => [
    ...node.damage.map((place) => ({ session: node.session, ...place })),
    ...node.children.flatMap(below),
  ]
  return [...root.damage, ...root.children.flatMap(below)]
}
