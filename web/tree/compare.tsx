/** Two sessions beside each other, from where they part. */
import { useQuery } from '@tanstack/react-query'
import { useMemo, useSyncExternalStore } from 'react'
import { Link } from 'wouter'
import { MessageRow } from '../session/message-row.tsx'
import { TranscriptViewModel } from '../session/transcript-view-model.ts'
import { useOpened } from '../session/use-session.ts'
import { counted, full, sessionPath } from '../shell/format.ts'
import { messageOf } from '../shell/message-of.ts'
import { copy } from '../shell/notices.tsx'
import { server } from '../shell/server.ts'
import { partingOf } from './parting.ts'

/** So many messages behind the point are shown of each. */
const SHOWN = 200

interface CompareProps {
  readonly left: string
  readonly right: string
  readonly onClose: () => void
}

export function Compare({ left, right, onClose }: CompareProps) {
  const { data: point, error } = useQuery({
    queryKey: ['compare', left, right],
    queryFn: () => partingOf(server.session(left), server.session(right)),
  })
  return (
    <div className="compare">
      <div className="compare-head">
        <button type="button" onClick={onClose}>
          Back to the tree
        </button>
        {point !== undefined && (
          <span>
            {point === 0 ? 'They share no message.' : `They share the first ${counted(point, 'message')}; what follows is shown.`}
          </span>
        )}
        {error !== null && (
          <span className="problem" role="alert">
            {messageOf(error)}
          </span>
        )}
      </div>
      {point !== undefined && (
        <div className="columns">
          <Column id={left} point={point} />
          <Column id={right} point={point} />
        </div>
      )}
    </div>
  )
}

function Column({ id, point }: { readonly id: string; readonly point: number }) {
  const { data: info } = useQuery({ queryKey: ['session', id], queryFn: async () => server.session(id).info() })
  const viewModel = useMemo(
    () => new TranscriptViewModel(async () => server.session(id).messages({ archived: true, depth: point + 1, limit: SHOWN })),
    [id, point],
  )
  useSyncExternalStore(viewModel.subscribe, () => viewModel.version)
  useOpened(viewModel)
  const depths = Array.from({ length: Math.max(viewModel.total - point, 0) }, (_, index) => point + index + 1)
  const hidden = (info?.totalMessageCount ?? 0) - viewModel.total
  return (
    <section className="column" aria-label={info?.title ?? id} tabIndex={0}>
      <h2 dir="auto">
        <Link href={sessionPath(id)}>{info?.title ?? id}</Link>
      </h2>
      {depths.map((depth) => {
        const message = viewModel.at(depth)
        if (message == null) return null
        return <MessageRow key={depth} message={message} viewModel={viewModel} folds={NO_FOLDS} deeds={deedsOf(id)} isTarget={false} />
      })}
      {viewModel.isOpen && depths.length === 0 && <p className="dim">Nothing behind the point where they part.</p>}
      {hidden > 0 && depths.length > 0 && <p className="dim">{full(hidden)} more in the transcript.</p>}
    </section>
  )
}

const NO_FOLDS = { has: () => false, toggle: () => undefined }

function deedsOf(id: string) {
  return { link: (message: string) => void copy(`${location.origin}${sessionPath(id)}?m=${encodeURIComponent(message)}`) }
}
