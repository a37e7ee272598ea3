/** What the holder of a share's link sees: the session as it was, to be read and nothing else. Needs no key. */
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Transcript } from '../session/transcript.tsx'
import { PAGE, TranscriptViewModel } from '../session/transcript-view-model.ts'
import { useOpened } from '../session/use-session.ts'
import { counted, longTime } from '../shell/format.ts'
import { messageOf } from '../shell/message-of.ts'
import { copy } from '../shell/notices.tsx'
import { server } from '../shell/server.ts'
import '../style/session.css'

export function SharedPage() {
  const token = decodeURIComponent(location.pathname.split('/')[2] ?? '')
  const { data, error } = useQuery({ queryKey: ['shared', token], queryFn: () => server.shared(token, { limit: 1 }), staleTime: 60_000 })
  const viewModel = useMemo(
    () =>
      new TranscriptViewModel(
        async (depth) => (await server.shared(token, { limit: PAGE, ...(depth === undefined ? { from: 'end' } : { depth }) })).page,
      ),
    [token],
  )
  useOpened(viewModel)
  if (error !== null) {
    return (
      <main id="main" className="page">
        <h1>This link opens nothing</h1>
        <p role="alert">{messageOf(error)}</p>
        <p className="dim">Ask whoever sent it for another one.</p>
      </main>
    )
  }
  return (
    <main id="main" className="session">
      <header className="session-header shared-header">
        <h1 dir="auto">{data === undefined ? 'Loading…' : (data.title ?? 'A shared session')}</h1>
        {data !== undefined && (
          <p className="dim">
            {counted(data.messageCount, 'message')}, as it was on {longTime(data.grantedAt)}
            {data.expiresAt !== null && `; to be read until ${longTime(data.expiresAt)}`}
          </p>
        )}
      </header>
      <Transcript
        viewModel={viewModel}
        archives={NO_ARCHIVES}
        deeds={DEEDS}
        target={undefined}
        opensAt="beginning"
        empty={<p className="dim">There is no message in it.</p>}
      />
    </main>
  )
}

const NO_ARCHIVES: readonly never[] = []
const DEEDS = { link: () => void copy(location.href, 'Copied the link to this page.') }
