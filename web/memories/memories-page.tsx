/** What is known across sessions, whose it is, where it comes from; and taking back what should not be known. */
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useMayWrite } from '../shell/caller.ts'
import { ConfirmDialog } from '../shell/confirm-dialog.tsx'
import { ago, counted, sessionPath } from '../shell/format.ts'
import { Problem } from '../shell/problem.tsx'
import { server } from '../shell/server.ts'
import '../style/overview.css'

type Memory = Awaited<ReturnType<typeof server.memories>>[number]
type Source = Memory['sources'][number]

const SHOWN = 300

export function MemoriesPage() {
  const [params, setParams] = useSearchParams()
  const [owner, text] = [params.get('owner') ?? '', params.get('q') ?? '']
  const query = useDeferredValue(text.trim())
  const wanted = useDeferredValue(owner.trim())
  const [retracting, setRetracting] = useState<Source>()
  const { data, error } = useQuery({
    queryKey: ['memories', wanted, query],
    placeholderData: keepPreviousData,
    queryFn: () => server.memories({ limit: SHOWN, ...(wanted === '' ? {} : { owner: wanted }), ...(query === '' ? {} : { query }) }),
  })
  const set = (name: string, value: string): void =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before)
        value === '' ? next.delete(name) : next.set(name, value)
        return next
      },
      { replace: true },
    )
  return (
    <main id="main" className="page memories" tabIndex={-1}>
      <h1>Memories</h1>
      <div className="memory-tools">
        <input
          type="search"
          aria-label="Search memories"
          placeholder="Search memories"
          value={text}
          onChange={(event) => set('q', event.target.value)}
        />
        <input
          aria-label="Owner"
          placeholder="owner (none: of nobody)"
          value={owner}
          onChange={(event) => set('owner', event.target.value)}
        />
      </div>
      <Problem error={error} />
      {data?.length === 0 && (
        <p className="dim">{query === '' ? 'No memories of this owner. Commits extract them from what was said.' : 'No memory matches.'}</p>
      )}
      {data?.map((memory) => (
        <article key={memory.id} className="memory">
          <span className="badge">{memory.category}</span> <span dir="auto">{memory.text}</span>
          <div className="memory-sources dim">
            <span>{ago(memory.updatedAt)}</span>
            {memory.sources.map((source) => (
              <SourceLink key={`${source.session} ${source.archive}`} source={source} onRetract={() => setRetracting(source)} />
            ))}
          </div>
        </article>
      ))}
      {data?.length === SHOWN && <p className="dim">The first {SHOWN} are shown. Search for others.</p>}
      {retracting !== undefined && <Retract source={retracting} known={data ?? []} onClose={() => setRetracting(undefined)} />}
    </main>
  )
}

function SourceLink({ source, onRetract }: { readonly source: Source; readonly onRetract: () => void }) {
  const mayWrite = useMayWrite()
  const [message] = source.messages
  return (
    <span>
      from{' '}
      <Link href={`${sessionPath(source.session)}${message === undefined ? '' : `?m=${encodeURIComponent(message)}`}`}>
        {source.session}, archive {source.archive}
      </Link>{' '}
      {mayWrite && (
        <button type="button" className="quiet" onClick={onRetract}>
          retract
        </button>
      )}
    </span>
  )
}

/** It concerns a whole archive, and cannot be undone: so it is asked first, and told what goes. */
function Retract({ source, known, onClose }: { readonly source: Source; readonly known: readonly Memory[]; readonly onClose: () => void }) {
  const queries = useQueryClient()
  const concerned = known.filter(({ sources }) =>
    sources.some(({ session, archive }) => session === source.session && archive === source.archive),
  )
  const retract = async (): Promise<void> => {
    await server.session(source.session).retractMemories(source.archive)
    await queries.invalidateQueries({ queryKey: ['memories'] })
  }
  return (
    <ConfirmDialog
      title={`Retract what archive ${source.archive} of ${source.session} taught`}
      action="Retract"
      doing="Retracting…"
      done="Retracted."
      run={retract}
      onClose={onClose}
    >
      <p>
        {counted(concerned.length, 'memory', 'memories')} of those shown {concerned.length === 1 ? 'comes' : 'come'} from it, and this
        cannot be undone. The messages stay.
      </p>
      <ul>
        {concerned.map(({ id, text }) => (
          <li key={id}>{text}</li>
        ))}
      </ul>
    </ConfirmDialog>
  )
}
