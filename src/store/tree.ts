/**
 * The tree of a session: its forks and children, and theirs, page by page. The order is that of a drawing from top to bottom: a session, then all
 * that come from it, then the next one that comes from the same session. A cursor names the last session of a page and the one it comes from. What
 * follows these two can be found again, whatever was forked since.
 */
import { HoldfastError } from '../errors.ts'
import { lossError } from '../journal/loss.ts'
import { LIMITS } from '../record/limits.ts'
import { checkLimit, checkTexts } from '../session/check.ts'
import { infoOf, type SessionInfo } from '../session/info.ts'
import { ABSENT_VERSION, type Grant, type SessionState } from '../session/state.ts'
import type { DamagedPlace } from './damage/damage.ts'
import { Handle } from './handle.ts'
import { Transcript } from './messages/transcript.ts'
import { pageCursor, placeIn, staleCursor } from './page-cursor.ts'

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
  /** It was on an earlier page. This page has more of its children. */
  readonly continued?: true
  readonly children: readonly TreeNode[]
}

export interface TreePage extends TreeNode {
  /** The cursor of the next page, or null on the last one. */
  readonly cursor: string | null
}

export interface TreeOptions {
  /** The largest number of sessions, up to 1000. Defaults to 1000. */
  readonly limit?: number
  /** The cursor of the page before. Null begins at the first page. */
  readonly cursor?: string | null | undefined
}

/** What the server adds: only sessions of one owner, and below them only such. */
type OwnedTreeOptions = TreeOptions & { readonly owner?: string | undefined }

/** Where a page ended: a session, and the one that it comes from; null for the root. */
interface Place {
  readonly session: string
  readonly parent: string | null
}

/** A session that was met. */
interface Visit extends Place {
  readonly node: Omit<TreeNode, 'children'>
  readonly grants: readonly Grant[]
}

/** What a session says of itself. */
interface Seen {
  readonly node: Omit<TreeNode, 'children' | 'kind' | 'message'>
  /** Undefined if it cannot be read. */
  readonly state: SessionState | undefined
}

type Growing = Omit<TreeNode, 'children'> & { readonly children: Growing[] }

/** A page of a tree. A session that cannot be read is in it, flagged; one that was granted and never made is not. */
export async function treePage(root: Handle, { limit = LIMITS.pageSessions, cursor, owner }: OwnedTreeOptions = {}): Promise<TreePage> {
  checkLimit(limit, LIMITS.pageSessions)
  checkTexts({ owner })
  const { born } = await root.liveState()
  const of = ['tree', root.id, born, owner ?? null]
  const walk = new TreeWalk(root, owner)
  const met = new Map<string, Growing>()
  let top: Growing | undefined
  let last: Place | undefined
  for await (const visit of walk.after(cursor == null ? undefined : parsePlace(cursor, of))) {
    const node: Growing = { ...visit.node, children: [] }
    if (visit.parent === null) top = node
    else if (top === undefined) {
      top = await continuedAt(walk, visit.parent, [node])
      met.set(visit.parent, top)
    } else {
      const parent = met.get(visit.parent)
      const isFull = met.size >= limit + (top.continued === true ? 1 : 0)
      // Without a parent here, what comes next belongs to a session above this page.
      if (isFull || parent === undefined) return { ...top, cursor: cursorAfter(last, of) }
      parent.children.push(node)
    }
    met.set(visit.session, node)
    last = visit
  }
  return { ...(top ?? (await continuedAt(walk, root.id, []))), cursor: null }
}

/** The root of a later page. An earlier page has its damage. */
async function continuedAt(walk: TreeWalk, session: string, children: Growing[]): Promise<Growing> {
  return { ...(await walk.nodeOf(session)), damage: [], continued: true, children }
}

function cursorAfter(last: Place | undefined, of: readonly unknown[]): string | null {
  return last === undefined ? null : pageCursor(of, [last.session, last.parent])
}

function parsePlace(cursor: string, of: readonly unknown[]): Place {
  const [session, parent] = placeIn(cursor, of)
  if (typeof session !== 'string' || (typeof parent !== 'string' && parent !== null)) throw staleCursor()
  return { session, parent }
}

class TreeWalk {
  readonly #root: Handle
  readonly #owner: string | undefined

  constructor(root: Handle, owner: string | undefined) {
    this.#root = root
    this.#owner = owner
  }

  /** Every session after a place, in the order of the tree; from the root on if there is none. */
  async *after(place: Place | undefined): AsyncGenerator<Visit> {
    if (place === undefined) {
      const { node, state } = await this.#seen(this.#root.id)
      const grants = grantsOf(state)
      yield { session: this.#root.id, parent: null, node: { ...node, kind: 'root', message: null }, grants }
      return yield* this.#below(this.#root.id, grants)
    }
    if (this.#owner !== undefined) await this.#requireOwn(place, this.#owner)
    yield* this.#below(place.session, grantsOf((await this.#seen(place.session)).state))
    let child = place.session
    const above = new Set<string>()
    for (let parent = place.parent; parent !== null; ) {
      requireNew(parent, above)
      const { state } = await this.#seen(parent)
      const grants = grantsOf(state)
      const index = grants.findLastIndex(({ session }) => session === child)
      if (index === -1) throw staleCursor()
      yield* this.#below(parent, grants.slice(index + 1))
      child = parent
      parent = parent === this.#root.id ? null : (state?.parent?.session ?? null)
    }
    if (child !== this.#root.id) throw staleCursor()
  }

  /** A session that was met before, as it is now. */
  async nodeOf(session: string): Promise<Omit<TreeNode, 'children'>> {
    const { node, state } = await this.#seen(session)
    if (session === this.#root.id || state === undefined || state.parent === null) return { ...node, kind: 'root', message: null }
    const { kind, message } = state.parent
    return { ...node, kind, message }
  }

  /** A caller who sees only sessions of one owner must not make a cursor that leads to others. */
  async #requireOwn({ session, parent }: Place, owner: string): Promise<void> {
    const met = new Set<string>()
    for (let [id, expected] = [session, parent]; id !== this.#root.id; ) {
      requireNew(id, met)
      const { state } = await this.#seen(id)
      const above = state?.parent?.session
      if (state?.owner !== owner || above === undefined || (id === session && above !== expected)) throw staleCursor()
      id = above
    }
  }

  /** Without recursion: forks of forks may be deeper than a stack. */
  async *#below(session: string, grants: readonly Grant[]): AsyncGenerator<Visit> {
    const stack = [{ session, grants, next: 0 }]
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const grant = top.grants[top.next++]
      if (grant === undefined) {
        stack.pop()
        continue
      }
      const visit = await this.#visit(top.session, grant)
      if (visit === undefined) continue
      yield visit
      stack.push({ session: visit.session, grants: visit.grants, next: 0 })
    }
  }

  async #visit(parent: string, { session, kind, message }: Grant): Promise<Visit | undefined> {
    // A session that was created again may come from one that had come from it.
    if (session === this.#root.id) return undefined
    const { node, state } = await this.#seen(session)
    // Its maker may have died after the grant. Or it was deleted since, and created again as something else.
    if (state !== undefined && state.parent?.session !== parent) return undefined
    if (this.#owner !== undefined && (state?.status !== 'live' || state.owner !== this.#owner)) return undefined
    return { session, parent, node: { ...node, kind, message }, grants: grantsOf(state) }
  }

  async #seen(session: string): Promise<Seen> {
    const handle = session === this.#root.id ? this.#root : new Handle(this.#root.parts, session)
    const state = await stateOrFlag(handle)
    if (!('grants' in state)) return { node: { session, title: null, version: ABSENT_VERSION, ...state }, state: undefined }
    const { status, version } = infoOf(session, state, handle.held.replica.damage)
    // No message is read for a tree, so how many are missing is not known.
    const places = await new Transcript(handle.parts, session, state).damageOf([], -1)
    const damage = places.map((place) => ({ ...place, count: place.count === 0 ? null : place.count }))
    return { node: { session, title: state.title, status, version, damage }, state }
  }
}

/** Of two sessions, each can come from the other: one of them was deleted and created again. A forged cursor may lead there. */
function requireNew(session: string, met: Set<string>): void {
  if (met.has(session)) throw staleCursor()
  met.add(session)
}

/** What the present incarnation of a session has granted. */
function grantsOf(state: SessionState | undefined): readonly Grant[] {
  return state?.grants.filter(({ born }) => born === state.born) ?? []
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
