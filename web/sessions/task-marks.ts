import type { RemoteStore } from 'holdfast/client'

export type TaskMark = 'committing' | 'failed'

/** Sessions with a commit that runs, waits or has failed: the list of sessions does not say. One that runs hides one that failed. */
export async function readTaskMarks(server: Pick<RemoteStore, 'tasks'>): Promise<ReadonlyMap<string, TaskMark>> {
  const [failed, pending, running] = await Promise.all(
    (['failed', 'pending', 'running'] as const).map((status) => server.tasks({ status, limit: 200 })),
  )
  const marks = new Map<string, TaskMark>()
  for (const { session } of failed ?? []) marks.set(session, 'failed')
  for (const { session } of [...(pending ?? []), ...(running ?? [])]) marks.set(session, 'committing')
  return marks
}
