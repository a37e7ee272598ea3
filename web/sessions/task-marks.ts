/** Which sessions have a commit under way, or one that failed: the list of sessions does not tell. */
import { useQuery } from '@tanstack/react-query'
import { server } from '../shell/server.ts'
import type { TaskMark } from './session-row.tsx'

const REFRESH_MS = 5000

export function useTaskMarks(): ReadonlyMap<string, TaskMark> {
  const { data } = useQuery({
    queryKey: ['task-marks'],
    refetchInterval: REFRESH_MS,
    queryFn: async () => {
      const [failed, pending, running] = await Promise.all(
        (['failed', 'pending', 'running'] as const).map((status) => server.tasks({ status, limit: 200 })),
      )
      const marks = new Map<string, TaskMark>()
      for (const { session } of failed ?? []) marks.set(session, 'failed')
      for (const { session } of [...(pending ?? []), ...(running ?? [])]) marks.set(session, 'committing')
      return marks
    },
  })
  return data ?? NONE
}

const NONE: ReadonlyMap<string, TaskMark> = new Map()
