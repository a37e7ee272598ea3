/** A message as it is kept: its place, and every content that it has had. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Dialog } from '../shell/dialog.tsx'
import { longTime } from '../shell/format.ts'
import { Problem } from '../shell/problem.tsx'
import { server } from '../shell/server.ts'
import { LongText } from './long-text.tsx'
import type { StoredMessage } from './transcript-view-model.ts'

interface RawRecordProps {
  readonly session: string
  readonly message: StoredMessage
  readonly onClose: () => void
}

export function RawRecord({ session, message, onClose }: RawRecordProps) {
  const { data, error } = useQuery({
    queryKey: ['session', session, 'record', message.id],
    queryFn: async () => (await server.session(session).record(message.id)) ?? null,
  })
  const {
    data: pages,
    hasNextPage,
    fetchNextPage,
  } = useInfiniteQuery({
    queryKey: ['session', session, 'revisions', message.id],
    enabled: message.replaced,
    initialPageParam: null as string | null,
    queryFn: async ({ pageParam: cursor }) => server.session(session).revisions(message.id, { cursor }),
    getNextPageParam: ({ cursor }) => cursor,
  })
  const revisions = (pages?.pages ?? []).toReversed().flatMap((page) => page.revisions)
  return (
    <Dialog title="Raw record" onClose={onClose} className="raw">
      <dl className="facts">
        <dt>Message</dt>
        <dd className="mono">{message.id}</dd>
        <dt>Place on the branch</dt>
        <dd>{message.depth}</dd>
        {data != null && (
          <>
            <dt>Journal</dt>
            <dd className="mono">
              {data.session}, position {data.position}
            </dd>
          </>
        )}
      </dl>
      <Problem error={error} />
      {data != null && <LongText text={JSON.stringify(data.record, null, 2)} />}
      {(revisions.length > 1 || hasNextPage) && (
        <>
          <h3>What it was before</h3>
          {hasNextPage && (
            <button type="button" onClick={() => void fetchNextPage()}>
              Show earlier contents
            </button>
          )}
          {revisions.slice(0, -1).map((revision) => (
            <section key={revision.at}>
              <p className="dim">{longTime(revision.at)}</p>
              <LongText text={JSON.stringify(revision.message, null, 2)} />
            </section>
          ))}
        </>
      )}
    </Dialog>
  )
}
