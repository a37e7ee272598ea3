/** What a name refers to where callers give only a name: a snapshot if there is one, or else a message. */
import type { RevertTarget } from '../session/decide.ts'
import type { SessionInfo } from '../session/info.ts'

export async function namedTarget(session: { info(): Promise<SessionInfo> }, to: string | null): Promise<RevertTarget> {
  if (to === null) return { message: null }
  const { snapshots } = await session.info()
  // A snapshot cannot take the id of a message, so if both are there, the snapshot was first.
  return snapshots.some(({ name }) => name === to) ? { snapshot: to } : { message: to }
}
