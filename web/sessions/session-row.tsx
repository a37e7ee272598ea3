/** One session in the list: what it is called, what it is about to do, how much there is of it. */
import { memo } from 'react'
import { Link } from 'wouter'
import { ago, full, longTime, sessionPath, short } from '../shell/format.ts'
import type { SessionInfo } from './sessions-view-model.ts'
import type { TaskMark } from './task-marks.ts'

interface RowProps {
  readonly info: SessionInfo
  readonly mark: TaskMark | undefined
  readonly isActive: boolean
  readonly isSelected: boolean
  readonly onSelect: (id: string, selected: boolean) => void
  readonly onFocus?: (id: string) => void
  readonly nowMs: number
}

/** Somebody writes to it, as far as one can tell from outside. */
const LIVE_MS = 60_000

export const SessionRow = memo(function SessionRow({ info, mark, isActive, isSelected, onSelect, onFocus, nowMs }: RowProps) {
  const name = info.title ?? info.id
  return (
    <div className={`row${isActive ? ' active' : ''}${isSelected ? ' selected' : ''}`}>
      <label className="pick">
        <input
          type="checkbox"
          checked={isSelected}
          aria-label={`Select ${name}`}
          onChange={(event) => onSelect(info.id, event.target.checked)}
        />
      </label>
      <Link href={sessionPath(info.id)} className="row-link" data-session={info.id} onFocus={() => onFocus?.(info.id)}>
        <span className="row-title">
          <span className="name" dir="auto">
            {name}
          </span>
          <Badges info={info} mark={mark} nowMs={nowMs} />
          {info.tags.slice(0, 4).map((tag) => (
            <span key={tag} className="tag">
              {tag}
            </span>
          ))}
        </span>
        <span className="row-meta">
          {info.title !== null && <span className="mono id">{info.id}</span>}
          {info.parent !== null && <span>{info.parent.kind === 'fork' ? 'fork' : 'sub-agent'}</span>}
          {info.owner !== null && <span>{info.owner}</span>}
        </span>
      </Link>
      <span className="row-numbers">
        <span title={`${full(info.totalMessageCount)} messages, ${full(info.messageCount)} of them live`}>
          {short(info.totalMessageCount)} <span className="unit">msgs</span>
        </span>
        <span title={`${full(info.totalTokens)} tokens, by estimate`}>
          {short(info.totalTokens)} <span className="unit">tok</span>
        </span>
        <time dateTime={info.updatedAt} title={longTime(info.updatedAt)}>
          {ago(info.updatedAt, nowMs)}
        </time>
      </span>
    </div>
  )
})

export function Badges({ info, mark, nowMs }: { readonly info: SessionInfo; readonly mark: TaskMark | undefined; readonly nowMs: number }) {
  const isLive = info.status === 'ok' && nowMs - Date.parse(info.updatedAt) < LIVE_MS
  return (
    <>
      {isLive && <span className="badge live">live</span>}
      {mark === 'committing' && <span className="badge">committing</span>}
      {mark === 'failed' && <span className="badge danger">failed task</span>}
      {info.status === 'damaged' && <span className="badge danger">damaged</span>}
      {info.status === 'unreadable' && <span className="badge danger">unreadable</span>}
      {info.status === 'deleted' && <span className="badge warn">deleted</span>}
    </>
  )
}
