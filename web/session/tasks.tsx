/** Commits of this session that are not through: how far they are, and what can be done about it. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useMayWrite } from '../shell/caller.ts'
import { attempt } from '../shell/notices.tsx'
import { server } from '../shell/server.ts'

const UNDER_WAY_MS = 500
const STAGES = { pending: 'waits for a worker', running: 'is being summarised', failed: 'failed', cancelled: 'was cancelled' } as const

export function Tasks({ id }: { readonly id: string }) {
  const queries = useQueryClient()
  const mayWrite = useMayWrite()
  const { data: tasks = [] } = useQuery({
    queryKey: ['session', id, 'tasks'],
    queryFn: () => server.tasks({ session: id, limit: 50 }),
    refetchInterval: ({ state }) => (state.data?.some(({ status }) => isUnderWay(status)) === true ? UNDER_WAY_MS : false),
  })
  const refresh = () => queries.invalidateQueries({ queryKey: ['session', id] })
  const act = (task: string, deed: 'retry' | 'cancel') =>
    attempt(async () => {
      await (await server.task(task))[deed]()
      await refresh()
    })
  return tasks
    .filter(({ status }) => status !== 'completed')
    .map(({ id: task, archive, status, attempts, error }) => (
      <div key={task} className={`task ${status}`} role="status">
        {isUnderWay(status) && <progress aria-label={`Archive ${archive}`} />}
        <span>
          Archive {archive} {STAGES[status as keyof typeof STAGES]}
          {attempts > 1 ? `, attempt ${attempts}` : ''}
          {error === null ? '.' : `: ${error.message}`}
        </span>
        {mayWrite &&
          (isUnderWay(status) ? (
            <button type="button" onClick={() => void act(task, 'cancel')}>
              Cancel
            </button>
          ) : (
            <button type="button" onClick={() => void act(task, 'retry')}>
              Retry
            </button>
          ))}
      </div>
    ))
}

function isUnderWay(status: string): boolean {
  return status === 'pending' || status === 'running'
}
