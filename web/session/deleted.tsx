/** A deleted session: nothing of it is lost until it is purged. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import { useMayWrite } from '../shell/caller.ts'
import { counted, longTime } from '../shell/format.ts'
import { attempt } from '../shell/notices.tsx'
import { server } from '../shell/server.ts'

export function Deleted({ id }: { readonly id: string }) {
  const queries = useQueryClient()
  // Only the list tells of what is deleted.
  const { data: info } = useQuery({
    queryKey: ['deleted', id],
    queryFn: async () => (await server.list({ status: 'deleted', query: id, limit: 100 })).sessions.find((one) => one.id === id) ?? null,
  })
  const mayWrite = useMayWrite()
  const restore = async (): Promise<void> => {
    await attempt(async () => server.session(id).restore(), 'Restored.')
    await queries.invalidateQueries({ queryKey: ['session', id] })
  }
  return (
    <main id="main" className="page">
      <h1 dir="auto">{info?.title ?? id}</h1>
      <p>
        <span className="badge warn">deleted</span> {longTime(info?.deletedAt ?? '')} Its{' '}
        {info == null ? 'messages' : counted(info.totalMessageCount, 'message')} can be brought back until somebody purges the store.
      </p>
      <p>
        {mayWrite && (
          <button type="button" className="primary" onClick={() => void restore()}>
            Restore
          </button>
        )}{' '}
        <Link href="/">All sessions</Link>
      </p>
    </main>
  )
}
