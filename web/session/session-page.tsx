/** One session: what it is, and one of the views of it. */
import { HoldfastError } from 'holdfast/client'
import { lazy, Suspense } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { sessionPath } from '../shell/format.ts'
import { messageOf } from '../shell/message-of.ts'
import { AppendBox } from './append-box.tsx'
import { DamageBanner } from './damage-banner.tsx'
import { useDeeds } from './deeds.tsx'
import { Deleted } from './deleted.tsx'
import { Find } from './find.tsx'
import { SessionHeader } from './session-header.tsx'
import { Transcript } from './transcript.tsx'
import { useArchives, useInfo, useMessagePlace, useTranscript } from './use-session.ts'
import '../style/session.css'

const WindowView = lazy(async () => ({ default: (await import('../window/window-view.tsx')).WindowView }))
const TreeView = lazy(async () => ({ default: (await import('../tree/tree-view.tsx')).TreeView }))
const HistoryView = lazy(async () => ({ default: (await import('../history/history-view.tsx')).HistoryView }))

const VIEWS = { '': 'Transcript', window: 'Window', tree: 'Tree', history: 'History' } as const
type ViewName = keyof typeof VIEWS

export function SessionPage() {
  useLocation()
  // As the address has it: ids may hold anything, also a slash, which the router would take for its own.
  const [, , id = '', view = ''] = location.pathname.split('/').map(decodeURIComponent)
  // Bookmarks may have the former name of the window.
  const name = view === 'context' ? 'window' : view
  return <OneSession key={id} id={id} view={Object.hasOwn(VIEWS, name) ? (name as ViewName) : ''} />
}

function OneSession({ id, view }: { readonly id: string; readonly view: ViewName }) {
  const { data: info, error } = useInfo(id)
  if (error instanceof HoldfastError && error.details.reason === 'deleted') return <Deleted id={id} />
  if (error !== null && info === undefined) {
    return (
      <main id="main" className="page">
        <h1>{id}</h1>
        <p role="alert">{messageOf(error)}</p>
        {isVanished(error) && <DamageBanner id={id} places={NO_PLACES} whole />}
        <p>
          <Link href="/">All sessions</Link>
        </p>
      </main>
    )
  }
  return (
    <main id="main" className="session">
      <SessionHeader id={id} info={info} />
      <nav className="views" aria-label="Views of this session">
        {Object.entries(VIEWS).map(([name, label]) => (
          <Link key={name} href={sessionPath(id, name)} aria-current={name === view ? 'page' : undefined}>
            {label}
          </Link>
        ))}
      </nav>
      <Suspense fallback={<p className="dim waiting">Loading…</p>}>
        {view === '' && <TranscriptView id={id} />}
        {view === 'window' && <WindowView id={id} />}
        {view === 'tree' && <TreeView id={id} />}
        {view === 'history' && <HistoryView id={id} />}
      </Suspense>
    </main>
  )
}

function TranscriptView({ id }: { readonly id: string }) {
  const viewModel = useTranscript(id)
  const [params, setParams] = useSearchParams()
  const { data: archives = NO_ARCHIVES, isFetched } = useArchives(id)
  const wanted = params.get('m') ?? undefined
  const { data: place } = useMessagePlace(id, wanted)
  const { deeds, dialogs } = useDeeds(id)
  const target = place == null ? undefined : { id: place.id, depth: place.depth }
  const isReady = isFetched && (wanted === undefined || place !== undefined)
  return (
    <>
      <Find id={id} onGo={(message) => setParams({ m: message }, { replace: true })} />
      {place === null && (
        <p className="problem banner" role="alert">
          There is no message {wanted} in this session.
        </p>
      )}
      {isReady ? (
        <Transcript
          viewModel={viewModel}
          archives={archives}
          deeds={deeds}
          target={target}
          empty={<p className="dim">No message yet. Write one below, or append one from a program.</p>}
        />
      ) : (
        <div className="transcript" aria-busy="true" />
      )}
      <AppendBox id={id} />
      {dialogs}
    </>
  )
}

function isVanished(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === 'DAMAGED' && error.details.reason === 'vanished'
}

const NO_PLACES: readonly never[] = []
const NO_ARCHIVES: readonly never[] = []
