/** What was found, while somebody types: sessions by their title, then what was said, with the words where they stand. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import { Link } from 'wouter'
import { ago, counted, sessionPath } from '../shell/format.ts'
import { Problem } from '../shell/problem.tsx'
import { server } from '../shell/server.ts'
import { type Filters, listOptions, queryOf, searchOptions } from './filter-options.ts'
import { SessionRow } from './session-row.tsx'
import type { TaskMark } from './task-marks.ts'

type Hit = Awaited<ReturnType<typeof server.search>>['hits'][number]

interface ResultsProps {
  readonly filters: Filters
  readonly marks: ReadonlyMap<string, TaskMark>
  readonly selected: ReadonlySet<string>
  readonly onSelect: (id: string, selected: boolean) => void
}

const HITS = 60
const TITLES = 20

export function SearchResults({ filters, marks, selected, onSelect }: ResultsProps) {
  const text = useDeferredValue((filters.q ?? '').trim())
  const narrowed = JSON.stringify({ ...filters, q: undefined })
  const titles = useQuery({
    queryKey: ['titles', text, narrowed],
    queryFn: () => server.list({ ...listOptions(filters), query: text, limit: TITLES, count: true }),
    placeholderData: keepPreviousData,
  })
  const found = useQuery({
    queryKey: ['search', text, narrowed],
    queryFn: () => server.search(queryOf(text), { ...searchOptions(filters), limit: HITS }),
    placeholderData: keepPreviousData,
  })
  const sessions = titles.data?.sessions ?? []
  const hits = (found.data?.hits ?? []).filter(({ kind }) => kind !== 'session')
  const isNothing = titles.isSuccess && found.isSuccess && sessions.length === 0 && hits.length === 0
  const problem = titles.error ?? found.error
  return (
    <div className="results" aria-busy={titles.isFetching || found.isFetching}>
      <Problem error={problem} />
      {isNothing && (
        <div className="empty">
          <h2>Nothing has “{text}”</h2>
          <p className="dim">
            Words match in any order; <code>"a phrase"</code> matches as it stands; the beginning of the last word is enough. Filters above
            apply too.
          </p>
        </div>
      )}
      {sessions.length > 0 && (
        <section aria-label="Sessions by title">
          <h2>
            Titles <span className="dim">{counted(titles.data?.total ?? sessions.length, 'session')}</span>
          </h2>
          {sessions.map((info) => (
            <SessionRow
              key={info.id}
              info={info}
              mark={marks.get(info.id)}
              isActive={false}
              isSelected={selected.has(info.id)}
              onSelect={onSelect}
              nowMs={Date.now()}
            />
          ))}
        </section>
      )}
      {hits.length > 0 && (
        <section aria-label="What was said">
          <h2>
            In conversations <span className="dim">{hits.length === HITS ? `first ${HITS}` : counted(hits.length, 'place')}</span>
          </h2>
          {hits.map((hit) => (
            <Found key={`${hit.session} ${hit.message ?? hit.memory ?? hit.archive}`} hit={hit} />
          ))}
        </section>
      )}
      {(found.data?.lag?.sessions ?? 0) > 0 && (
        <p className="dim">
          The index is still reading {counted(found.data?.lag?.sessions ?? 0, 'session')}; more may be found in a moment.
        </p>
      )}
    </div>
  )
}

function Found({ hit }: { readonly hit: Hit }) {
  const { session, title, message, role, at, snippet, marks, kind } = hit
  const place = message === null ? '' : `?m=${encodeURIComponent(message)}`
  return (
    <Link href={`${sessionPath(session)}${place}`} className="hit">
      <span className="hit-head">
        <span className="name" dir="auto">
          {title ?? session}
        </span>
        <span className="badge">{kind === 'message' ? (role ?? 'message') : kind}</span>
        <time className="dim" dateTime={at}>
          {ago(at)}
        </time>
      </span>
      <span className="hit-text" dir="auto">
        <Marked text={snippet} marks={marks} />
      </span>
    </Link>
  )
}

function Marked({ text, marks }: Pick<Hit, 'marks'> & { readonly text: string }) {
  const pieces = []
  let end = 0
  for (const [from, to] of marks) {
    pieces.push(text.slice(end, from), <mark key={from}>{text.slice(from, to)}</mark>)
    end = to
  }
  return (
    <>
      {pieces}
      {text.slice(end)}
    </>
  )
}
