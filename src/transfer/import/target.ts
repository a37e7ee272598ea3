/**
 * Which session of the store the items of a source go into: the one of the same id if it is the same session, otherwise one with another id.
 * It is created if it does not exist.
 */
import type { ParentItem } from '../../formats/item.ts'
import { digest } from '../../formats/values.ts'
import { hashKey } from '../../record/key-hash.ts'
import { checkDescription } from '../../session/check.ts'
import { create, type Descriptive } from '../../session/decide.ts'
import type { SessionState } from '../../session/state.ts'
import { Handle } from '../../store/handle.ts'
import { admit, admitAmount } from '../../store/messages/admission.ts'
import type { StoreParts, WriterParts } from '../../store/parts.ts'
import { Session } from '../../store/session.ts'
import { creationKey, type ImportScope, isExport, reportRefusal } from './import-scope.ts'
import { knownMessages } from './known-messages.ts'
import { sharedWith } from './lineage.ts'

export interface Target {
  readonly handle: Handle<StoreParts>
  /** Nothing if it was deleted here; only messages if no import created it. */
  readonly accepts: 'everything' | 'messages' | 'nothing'
  /** It begins with messages of a parent. */
  readonly isFork: boolean
  /** The models whose usage it counts. */
  readonly models: ReadonlySet<string>
}

/** Finds or creates the session. `first`: the ids of the first messages of the source, by which a session is recognised. */
export async function openTarget(scope: ImportScope, first: readonly string[]): Promise<Target> {
  const { parts, begin, source } = scope
  const otherId = `${begin.session}-${digest(source).slice(0, 8)}`
  const models = new Set<string>()
  let accepts: Target['accepts'] = 'everything'
  for (let id = begin.session; ; id = otherId) {
    const handle = new Handle(parts, id)
    const state = await handle.state()
    if (state.status === 'deleted') return { handle, accepts: 'nothing', isFork: false, models }
    if (state.status === 'absent') return { handle, accepts, isFork: await createTarget(scope, handle, first), models }
    accepts = (await isImported(scope, handle)) ? 'everything' : 'messages'
    for (const { model } of state.usage) models.add(model)
    if (id === otherId || (await isSame(scope, handle, state, first))) return { handle, accepts, isFork: state.past.length > 0, models }
  }
}

async function isImported(scope: ImportScope, handle: Handle): Promise<boolean> {
  const [created] = await handle.held.replica.find([hashKey('operation', creationKey(scope, scope.begin.session))])
  return created !== undefined
}

/** Whether a session is the one of the source: it has messages of it, or was made from it, or there is nothing to compare. */
async function isSame({ ledger, source }: ImportScope, handle: Handle, { runs }: SessionState, first: readonly string[]): Promise<boolean> {
  if (runs.length === 0 || first.length === 0) return true
  const known = await knownMessages(handle, first)
  return known.some((entry) => entry !== undefined) || (await ledger.originOf(handle.id)) === source
}

/** Creates the session, from its parent if that is here; not in a dry run. Returns whether it begins with messages of the parent. */
async function createTarget(scope: ImportScope, handle: Handle, first: readonly string[]): Promise<boolean> {
  const { parent } = scope.begin
  const description = checkedDescription(scope, handle)
  const from = parent === undefined ? undefined : await parentOf(scope, parent, handle)
  if (scope.dryRun) return false
  if (parent !== undefined && from !== undefined) {
    const shared = parent.kind === 'fork' ? await sharedWith(from, parent, first) : undefined
    await createFrom(scope, from, shared, { id: handle.id, ...description })
    return shared !== undefined
  }
  await createAlone(scope, handle, description)
  return false
}

/** The title, tags and metadata of the source; none if this store cannot take them. */
function checkedDescription(scope: ImportScope, handle: Handle): Descriptive {
  try {
    return checkDescription(admit(scope.parts, handle.id, 'description', scope.begin.description))
  } catch (error) {
    reportRefusal(scope, error, 'Its title, tags or metadata')
    return {}
  }
}

/** The parent of a session, if the store has it or it comes in the same run. */
async function parentOf({ parts, called, report }: ImportScope, { session }: ParentItem, child: Handle): Promise<Handle | undefined> {
  const parent = new Handle(parts, called.get(session)?.id ?? session)
  if (parent.id !== child.id && (called.has(session) || (await parent.state()).status === 'live')) return parent
  report.healed.push(`It comes from "${session}", which is not here: it begins on its own.`)
  return undefined
}

/** As a fork that shares its parent's messages up to `shared`, or as a child. */
async function createFrom(
  scope: ImportScope,
  parent: Handle,
  shared: string | undefined,
  described: Descriptive & { readonly id: string },
): Promise<void> {
  const id = scope.begin.session
  const at = scope.times.at(undefined)
  const options = { ...described, key: creationKey(scope, id), ...(at === undefined ? {} : { when: at }) }
  const session = new Session(scope.parts, parent.id)
  if (shared === undefined) await session.child(options)
  // A fork inherits the title of its parent. In other programs it does not, so one that has no title there has none here.
  else await session.fork({ ...(isExport(scope) ? {} : { title: null }), ...options, at: shared })
}

async function createAlone(scope: ImportScope, handle: Handle<WriterParts>, description: Descriptive): Promise<void> {
  const id = scope.begin.session
  const at = scope.times.at(undefined)
  const created = { space: handle.parts.space, session: handle.id, ...description }
  if (handle.parts.quotas !== undefined) await admitAmount(handle, {})
  const terms = { ...handle.terms('create', created, { key: creationKey(scope, id) }), at }
  await handle.submit(terms, (full) => create(full, created, { ifAbsent: true }))
}
