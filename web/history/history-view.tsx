/** What happened to a session, the last thing first: snapshots, reverts, commits, names; each with the record that it is. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { LongText } from '../session/long-text.tsx'
import { useMayWrite } from '../shell/caller.ts'
import { ago, full, longTime } from '../shell/format.ts'
import { attempt } from '../shell/notices.tsx'
import { Problem } from '../shell/problem.tsx'
import { server } from '../shell/server.ts'

type PageRecord = Awaited<ReturnType<Awaited<ReturnType<typeof server.session>>['recordPage']>>['records'][number]
type Fields = Readonly<Record<string, unknown>>

export function HistoryView({ id }: { readonly id: string }) {
  const [withMessages, setWithMessages] = useState(false)
  const { data, error, hasNextPage, fetchNextPage, isFetching } = useInfiniteQuery({
    queryKey: ['session', id, 'records', withMessages],
    initialPageParam: undefined as number | undefined,
    queryFn: async ({ pageParam }) =>
      server.session(id).recordPage({ messages: withMessages, ...(pageParam === undefined ? {} : { before: pageParam }) }),
    getNextPageParam: ({ before }) => before ?? undefined,
  })
  const records = data?.pages.flatMap((page) => page.records) ?? []
  return (
    <div className="page history">
      <label>
        <input type="checkbox" checked={withMessages} onChange={(event) => setWithMessages(event.target.checked)} /> Messages too
      </label>
      <Problem error={error} />
      <ol className="records">
        {records.map((entry) => (
          <Row key={entry.position} id={id} entry={entry} />
        ))}
      </ol>
      {data !== undefined && records.length === 0 && !hasNextPage && <p className="dim">Nothing but messages so far.</p>}
      {hasNextPage && (
        <button type="button" disabled={isFetching} onClick={() => void fetchNextPage()}>
          {isFetching ? 'Reading…' : 'Further back'}
        </button>
      )}
    </div>
  )
}

function Row({ id, entry }: { readonly id: string; readonly entry: PageRecord }) {
  const mayWrite = useMayWrite()
  const [isOpen, setOpen] = useState(false)
  const { record, position } = entry
  const snapshot = record.type === 'snapshot.taken' ? String(record.name) : undefined
  const revert = (to: string): void =>
    void attempt(
      async () => server.session(id).revert({ snapshot: to }),
      `Reverted to “${to}”. Nothing was destroyed.`,
      async () => server.session(id).undo(),
    )
  return (
    <li className={record.type.replace('.', '-')}>
      <div>
        <time className="dim" dateTime={record.at} title={longTime(record.at)}>
          {ago(record.at)}
        </time>
        <span dir="auto">{sentence(record.type, record as unknown as Fields)}</span>
        {mayWrite && snapshot !== undefined && (
          <button type="button" onClick={() => revert(snapshot)}>
            Revert to it
          </button>
        )}
        <button type="button" className="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          record at {full(position)}
        </button>
      </div>
      {isOpen && <LongText text={JSON.stringify(record, null, 2)} />}
    </li>
  )
}

const SENTENCES: Readonly<Record<string, (record: Fields) => string>> = {
  'session.created': () => 'The session was created',
  'session.deleted': () => 'Deleted',
  'session.restored': () => 'Restored',
  'session.described': ({ title }) => (title === undefined ? 'Described anew' : `Named “${title}”`),
  'messages.appended': ({ messages }) => (Array.isArray(messages) && messages.length !== 1 ? `${messages.length} messages` : 'A message'),
  'message.replaced': () => 'A message was given other content',
  'message.erased': () => 'A message was erased',
  'entry.put': () => 'Data was put beside the messages',
  'snapshot.taken': ({ name }) => `Snapshot “${name}”`,
  'head.moved': () => 'Reverted, or a revert undone: the end moved',
  'fork.granted': ({ kind, session }) => `${kind === 'child' ? 'A sub-agent began' : 'Forked'}: ${session}`,
  'fork.released': ({ session }) => `The fork ${session} was not made`,
  'commit.requested': () => 'A commit was asked for',
  'commit.leased': () => 'A worker took the commit on',
  'commit.finished': () => 'The commit is complete',
  'commit.failed': () => 'An attempt at the commit failed',
  'commit.cancelled': () => 'The commit was cancelled',
  'memories.retracted': () => 'Memories were retracted',
  'usage.recorded': ({ model, calls }) => (Array.isArray(calls) ? `${calls.length} calls to models` : `A call to ${model}`),
  'share.granted': () => 'Shared',
  'share.revoked': () => 'A share was revoked',
  'damage.acknowledged': () => 'Damage was acknowledged',
}

function sentence(type: string, record: Fields): string {
  return SENTENCES[type]?.(record) ?? type
}
