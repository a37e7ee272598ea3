/**
 * Repair: adds, or sets aside, and does nothing else. No byte of a journal is changed or removed. What cannot be read is copied to the
 * quarantine, and its place is written down in the session's own journal (`damage.acknowledged`), so that it is not told for ever; a fork that
 * its parent does not know of is granted again; what a roll, a purge or an erasure had begun is ended; derived files that do not agree are made anew.
 *
 * A loss is accepted: the session continues without what vanished. What no one can accept stays: a session that cannot be opened, and one whose
 * files are in another one's place.
 */
import { HoldfastError } from '../errors.ts'
import { grant } from '../session/decide.ts'
import { acceptLoss, acknowledgeDamage } from '../store/damage/accept-damage.ts'
import { Handle } from '../store/handle.ts'
import { finishErasures } from '../store/lifecycle/erase.ts'
import { purgeNow } from '../store/lifecycle/purge.ts'
import type { Store } from '../store/store.ts'
import { type Finding, isAcceptable } from '../verify/findings.ts'

/** What is done about a finding; undefined if nothing can be. */
export type Remedy = 'accept' | 'acknowledge' | 'grant' | 'erase' | 'purge' | 'roll' | 'rederive'

/** What a repair would do about a finding. */
export function remedyFor({ kind, severity }: Finding): Remedy | undefined {
  if (kind === 'unfinished-erasure') return 'erase'
  if (kind === 'unfinished-purge') return 'purge'
  if (kind === 'unfinished-roll') return 'roll'
  if (kind === 'stale-index') return 'rederive'
  if (severity !== 'damage') return undefined
  if (kind === 'vanished') return 'accept'
  if (kind === 'ungranted-fork') return 'grant'
  return isAcceptable(kind) ? 'acknowledge' : undefined
}

/** Carries out what can be done about the damage of one session. Tells which findings are left. */
export async function repairSession(store: Store, session: string, findings: readonly Finding[]): Promise<Finding[]> {
  const left: Finding[] = []
  const known: Finding[] = []
  const handle = new Handle(store.parts, session)
  // The content of these files belongs to another session.
  if (findings.some(({ kind }) => kind === 'wrong-identity')) return findings.filter(({ severity }) => severity === 'damage')
  // First: nothing else can be written to a session that lost bytes.
  if (findings.some(({ kind }) => kind === 'vanished')) await acceptLoss(handle)
  for (const finding of findings) {
    const remedy = remedyFor(finding)
    if (remedy === undefined) {
      if (finding.severity === 'damage') left.push(finding)
    } else if (remedy === 'accept') continue
    else if (remedy === 'erase') await finishErasures(handle.parts, handle.id)
    else if (remedy === 'purge') await purgeNow(store.parts, handle.name)
    else if (remedy === 'roll') await handle.held.replica.recover()
    else if (remedy === 'rederive') await store.parts.engine.rederive?.(handle.name)
    else if (remedy === 'acknowledge') known.push(finding)
    else if (!(await grantAgain(handle))) left.push(finding)
  }
  if (known.length === 0) return left
  try {
    await acknowledgeDamage(handle, known)
    return left
  } catch (error) {
    // A deleted session takes no records, and one of which nothing can be read is nobody's.
    if (!(error instanceof HoldfastError) || !['NOT_FOUND', 'CONFLICT'].includes(error.code)) throw error
    return [...left, ...known]
  }
}

async function grantAgain(handle: Handle): Promise<boolean> {
  const { parent } = await handle.state()
  if (parent === null) return false
  const of = new Handle(handle.parts, parent.session)
  if ((await of.state()).status !== 'live') return false
  await of.submit({}, (terms) => grant(terms, { session: handle.id, kind: parent.kind, message: parent.message }))
  return true
}
