/** Sessions that come from others: forks, which share a past, and children, the sessions of sub-agents. */
import { hash } from 'node:crypto'
import { HoldfastError } from '../errors.ts'
import { lossError } from '../journal/loss.ts'
import { checkDescription, checkId } from '../session/check.ts'
import type { Outcome } from '../session/command.ts'
import * as decide from '../session/decide.ts'
import { infoOf, type SessionInfo } from '../session/info.ts'
import type { Description } from '../session/records.ts'
import { ABSENT_VERSION, type Parent, type SessionState } from '../session/state.ts'
import type { DamagedPlace } from './damage/damage.ts'
import { Handle } from './handle.ts'
import { admit, admitAmount } from './messages/admission.ts'
import { Transcript } from './messages/transcript.ts'

export interface TreeNode {
  readonly session: string
  readonly kind: 'root' | 'fork' | 'child'
  readonly title: string | null
  readonly status: SessionInfo['status']
  readonly version: string
  /** The message that it began from. */
  readonly message: string | null
  /** What this process knows to be lost in this session's own journal. Nothing is read to find more. */
  readonly damage: readonly DamagedPlace[]
  readonly children: readonly TreeNode[]
}

export interface ForkRequest {
  readonly kind: 'fork' | 'child'
  readonly id: string | undefined
  readonly key: string | undefined
  /** The version that the parent must still have. */
  readonly expect: string | undefined
  /** When it happened, of what is imported. */
  readonly when?: string | undefined
  readonly message: string | null
  /** The incarnation of the parent in which that message was found. */
  readonly born: number | undefined
  readonly description: Description
  /** What the new session has of its parent, as that was when it granted it. */
  readonly inherit: (granted: Outcome) => object
}

/** Makes a session from another one, and returns its id. */
export async function createFork(
  parent: Handle,
  { kind, id, key, expect, when, message, born, description, inherit }: ForkRequest,
): Promise<string> {
  const { space, ids, clock } = parent.parts
  // Derived from the key, so that a call that is repeated makes one session.
  const made = (): string =>
    key === undefined ? ids.next(clock.now()) : hash('sha256', JSON.stringify([space, parent.id, kind, key]), 'hex').slice(0, 32)
  const fork = new Handle(parent.parts, id === undefined ? made() : checkId('The id of the new session', id))
  if (fork.id === parent.id) throw new HoldfastError('ALREADY_EXISTS', 'A session cannot come from itself. Choose another id.')
  if (parent.parts.quotas !== undefined) await admitAmount(fork, {})
  const wanted = checkDescription(admit(parent.parts, fork.id, 'description', description))
  const terms = fork.terms(kind, { of: parent.id, message, ...wanted }, key === undefined ? {} : { key })
  // The grant comes first: from then on nothing that the new session reaches is purged. If the process dies behind it, a grant is left
  // that nobody uses; repeating the call finds it, and `doctor` tells of it.
  const granted = await parent.submit({ born, expect }, (full) => decide.grant(full, { session: fork.id, kind, message }))
  const from: Parent = { session: parent.id, kind, message }
  const session = { space, session: fork.id, from, ...inherit(granted), ...wanted }
  try {
    await fork.submit({ ...terms, at: when }, (full) => decide.create(full, session))
  } catch (error) {
    const refused = error instanceof HoldfastError && error.outcome === 'none'
    // Somebody else may have made the same session from the same parent, on the strength of this very grant.
    const used = refused && (await fork.state()).parent?.session === parent.id
    if (refused && !used && granted.placed !== undefined) await parent.submit({}, () => decide.release(fork.id, granted.before.born))
    throw error
  }
  return fork.id
}

/** How a session hangs on the one before. */
type Branch = Pick<TreeNode, 'kind' | 'message'>

/** A tree is cut off behind this many sessions. */
const TREE_LIMIT = 1000

/** A session with its forks and children, and theirs. One that cannot be read is in it, flagged; one that was never made is not. */
export async function treeOf(root: Handle): Promise<TreeNode> {
  await root.liveState()
  let left = TREE_LIMIT
  const grow = async (handle: Handle, { kind, message }: Branch, parent?: string): Promise<TreeNode | undefined> => {
    const state = await stateOrFlag(handle)
    if (!('grants' in state)) {
      return { session: handle.id, kind, title: null, ...state, version: ABSENT_VERSION, message, children: [] }
    }
    // Its maker may have died behind the grant; and it may have been deleted since, and created anew as something else.
    if (parent !== undefined && state.parent?.session !== parent) return undefined
    const children: TreeNode[] = []
    for (const grant of state.grants.filter(({ born }) => born === state.born)) {
      const child = --left > 0 ? await grow(new Handle(root.parts, grant.session), grant, handle.id) : undefined
      if (child !== undefined) children.push(child)
    }
    const { status, version } = infoOf(handle.id, state, handle.held.replica.damage)
    // No message is read for a tree, so how many are missing is not known.
    const places = await new Transcript(root.parts, handle.id, state).damageOf([], -1)
    const damage = places.map((place) => ({ ...place, count: place.count === 0 ? null : place.count }))
    return { session: handle.id, kind, title: state.title, status, version, message, damage, children }
  }
  return (await grow(root, { kind: 'root', message: null })) as TreeNode
}

async function stateOrFlag(handle: Handle): Promise<SessionState | Pick<TreeNode, 'status' | 'damage'>> {
  try {
    const state = await handle.state()
    const { loss } = handle.held.replica
    // What is left of it does not say whose fork it is.
    if (loss !== undefined && (loss.as === 'identity' || state.id === null))
      throw lossError(loss, { space: handle.parts.space, id: handle.id })
    return state
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
    if (error.code !== 'DAMAGED') return { status: 'unreadable', damage: [] }
    const reason = error.details.reason === 'vanished' || error.details.reason === 'identity' ? error.details.reason : 'missing'
    return { status: 'damaged', damage: [{ position: 0, count: null, reason }] }
  }
}
