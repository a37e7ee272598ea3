/** What there is to know of a session but for its messages. */

import { type Damage, isDamaged } from '../record/damage.ts'
import type { Json } from '../record/record.ts'
import { samePoint } from './branch.ts'
import { isAccepted } from './damaged-places.ts'
import type { Amount, Parent, SessionState, Snapshot } from './state.ts'

export interface SessionInfo {
  readonly id: string
  readonly status: 'ok' | 'damaged' | 'unreadable' | 'deleted'
  readonly version: string
  readonly title: string | null
  readonly tags: readonly string[]
  readonly owner: string | null
  readonly workspace: string | null
  readonly metadata: Readonly<Record<string, Json>>
  readonly policies: Readonly<Record<string, Json>>
  /** An empty text in a list, if the session is `unreadable`: then `createdAt`, `updatedAt` and `version` are not known. */
  readonly createdAt: string
  readonly updatedAt: string
  readonly deletedAt: string | null
  readonly parent: Parent | null
  /** Live messages, and their tokens by estimate. */
  readonly messageCount: number
  readonly pendingTokens: number
  /** Those on the branch, archived ones included. */
  readonly totalMessageCount: number
  readonly totalTokens: number
  readonly commitCount: number
  readonly snapshots: readonly {
    readonly name: string
    readonly takenAt: string
    readonly messageCount: number
    readonly current: boolean
  }[]
  readonly shares: readonly {
    readonly id: string
    readonly grantedAt: string
    readonly expiresAt: string | null
    readonly messageCount: number
  }[]
  readonly canUndo: boolean
}

export function infoOf(id: string, state: SessionState, damage: readonly Damage[]): SessionInfo {
  const { title, tags, owner, workspace, metadata, policies, createdAt, updatedAt, deletedAt, parent, version, head } = state
  const alive = lacksRecords(state, damage) ? 'damaged' : 'ok'
  return {
    id,
    status: state.status === 'deleted' ? 'deleted' : alive,
    version,
    title,
    tags,
    owner,
    workspace,
    metadata,
    policies,
    createdAt,
    updatedAt,
    deletedAt,
    parent,
    ...liveAmount(state),
    totalMessageCount: head.n,
    totalTokens: head.t,
    commitCount: state.archives.length,
    snapshots: state.snapshots.map((snapshot) => snapshotInfo(snapshot, state)),
    shares: state.shares.map(({ id: share, grantedAt, expiresAt, n }) => ({ id: share, grantedAt, expiresAt, messageCount: n })),
    canUndo: state.undo.length > 0,
  }
}

/** Whether records of a session are known to be lost, and not all of that was accepted. */
export function lacksRecords({ id, noticed, accepted }: SessionState, damage: readonly Damage[]): boolean {
  const isOpen = (position: number, to: number): boolean => !isAccepted({ position, to }, accepted)
  const isHurt = isDamaged(damage.filter(({ at, length }) => isOpen(at, at + length)))
  return id === null || isHurt || noticed.some(({ position, to }) => isOpen(position, to))
}

/** What is live, with so much more. */
export function liveAmount(
  { head, archived }: SessionState,
  more: Amount = { n: 0, t: 0 },
): Pick<SessionInfo, 'messageCount' | 'pendingTokens'> {
  return { messageCount: head.n + more.n - archived.n, pendingTokens: Math.max(head.t + more.t - archived.t, 0) }
}

function snapshotInfo(snapshot: Snapshot, { head }: SessionState): SessionInfo['snapshots'][number] {
  const { name, takenAt, n } = snapshot
  return { name, takenAt, messageCount: n, current: samePoint(snapshot, head) }
}
