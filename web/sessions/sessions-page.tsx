/** All sessions: found, narrowed, followed and dealt with many at a time. */
import { useVirtualizer } from '@tanstack/react-virtual'
import { type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { useLocation } from 'wouter'
import { full, sessionPath } from '../shell/format.ts'
import { Icon } from '../shell/icon.tsx'
import { useShortcuts } from '../shell/keyboard.ts'
import { useWhileVisible } from '../shell/live.ts'
import { messageOf } from '../shell/message-of.ts'
import { server, serverLink } from '../shell/server.ts'
import { BulkBar } from './bulk-bar.tsx'
import { listOptions } from './filter-options.ts'
import { FilterBar, useFilters } from './filters.tsx'
import { nextPlace } from './next-place.ts'
import { NoSessions } from './no-sessions.tsx'
import { SearchResults } from './search-results.tsx'
import { SessionRow } from './session-row.tsx'
import { SessionsViewModel } from './sessions-view-model.ts'
import { useTaskMarks } from './use-task-marks.ts'

const ROW_PX = 56
/** How often "3 min ago" is worked out anew. */
const TICK_MS = 15_000

export function SessionsPage() {
  const [filters, change, clear] = useFilters()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const search = useRef<HTMLInputElement>(null)
  const marks = useTaskMarks()
  const onSelect = useCallback((id: string, isSelected: boolean) => {
    setSelected((before) => {
      const next = new Set(before)
      isSelected ? next.add(id) : next.delete(id)
      return next
    })
  }, [])
  useShortcuts('Sessions', [
    { keys: '/', about: 'Search', run: () => search.current?.focus() },
    {
      keys: 'Escape',
      about: 'Clear the selection, then the search',
      run: () => (selected.size > 0 ? setSelected(new Set()) : clear()),
    },
  ])
  const { q: _, ...narrowing } = filters
  const key = JSON.stringify(narrowing)
  return (
    <main id="main" className="sessions">
      <h1 className="visually-hidden">Sessions</h1>
      <div className="tools">
        <div className="search-field">
          <Icon name="search" />
          <input
            ref={search}
            type="search"
            aria-label="Search titles and what was said"
            placeholder="Search titles and what was said  ( / )"
            value={filters.q ?? ''}
            onChange={(event) => change({ q: event.target.value })}
            onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
          />
        </div>
        <FilterBar filters={filters} onChange={change} />
      </div>
      {selected.size > 0 && <BulkBar selected={selected} onDone={() => setSelected(new Set())} />}
      {(filters.q ?? '').trim() === '' ? (
        <List key={key} narrowing={key} marks={marks} selected={selected} onSelect={onSelect} isNarrowed={key !== '{}'} onClear={clear} />
      ) : (
        <SearchResults filters={filters} marks={marks} selected={selected} onSelect={onSelect} />
      )}
    </main>
  )
}

interface ListProps {
  /** The filters, as text. */
  readonly narrowing: string
  readonly isNarrowed: boolean
  readonly marks: ReturnType<typeof useTaskMarks>
  readonly selected: ReadonlySet<string>
  readonly onSelect: (id: string, selected: boolean) => void
  readonly onClear: () => void
}

function List({ narrowing, isNarrowed, marks, selected, onSelect, onClear }: ListProps) {
  const viewModel = useSessions(narrowing)
  const [, go] = useLocation()
  const scroller = useRef<HTMLDivElement>(null)
  const [active, setActive, focus] = useActive(scroller)
  const nowMs = useNow()
  const { rows, total, error } = viewModel
  const virtual = useVirtualizer({
    count: Math.max(rows.length, total),
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    onChange: (instance) => {
      viewModel.mayMove = (instance.scrollOffset ?? 0) < ROW_PX
      viewModel.want((instance.range?.endIndex ?? 0) + 50)
    },
  })
  const place = active === undefined ? undefined : viewModel.placeOf(active)
  const lastPlace = useRef(-1)
  if (place !== undefined) lastPlace.current = place
  const current = place === undefined ? undefined : rows[place]
  const move = (by: number): void => {
    const index = nextPlace(place, lastPlace.current, by, rows.length)
    const next = rows[index]
    if (next === undefined) return
    focus(next.id)
    virtual.scrollToIndex(index)
  }
  useShortcuts('List', [
    { keys: 'j', about: 'Next session', run: () => move(1) },
    { keys: 'k', about: 'Session before', run: () => move(-1) },
    { keys: 'ArrowDown', about: 'Next session', run: () => move(1) },
    { keys: 'ArrowUp', about: 'Session before', run: () => move(-1) },
    { keys: 'o', about: 'Open it', run: () => current !== undefined && go(sessionPath(current.id)) },
    { keys: 'x', about: 'Select it', run: () => current !== undefined && onSelect(current.id, !selected.has(current.id)) },
  ])
  if (error !== undefined && rows.length === 0) {
    return (
      <div className="empty" role="alert">
        <h2>The list could not be read</h2>
        <p>{messageOf(error)}</p>
        <button type="button" onClick={() => void viewModel.reload()}>
          Try again
        </button>
      </div>
    )
  }
  if (viewModel.isLoaded && rows.length === 0) return <NoSessions isNarrowed={isNarrowed} onClear={onClear} />
  return (
    <>
      <div className="count dim" aria-live="off">
        {viewModel.isLoaded ? `${full(total)} ${total === 1 ? 'session' : 'sessions'}` : 'Loading…'}
        {viewModel.waiting.size > 0 && (
          <button
            type="button"
            className="news"
            onClick={() => {
              scroller.current?.scrollTo({ top: 0 })
              void viewModel.reload()
            }}
          >
            {viewModel.waiting.size} changed meanwhile: show
          </button>
        )}
      </div>
      <div ref={scroller} className="scroller" tabIndex={0} role="region" aria-label="Sessions">
        <div role="list" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const info = rows[index]
            return (
              <div
                key={info?.id ?? index}
                role="listitem"
                data-index={index}
                aria-setsize={total}
                aria-posinset={index + 1}
                className="slot"
                style={{ transform: `translateY(${start}px)`, height: ROW_PX }}
              >
                {info === undefined ? (
                  <div className="row ghost" />
                ) : (
                  <SessionRow
                    info={info}
                    mark={marks.get(info.id)}
                    isActive={index === place}
                    isSelected={selected.has(info.id)}
                    onSelect={onSelect}
                    onFocus={setActive}
                    nowMs={nowMs}
                  />
                )}
              </div>
            )
          })}
        </div>
      </div>
    </>
  )
}

/**
 * The session that keys act on: the one that has the focus, wherever it stands in the list by now. The focus is set before the next key
 * can come, once the row is there, and given back if a row lost it by being put elsewhere.
 */
function useActive(scroller: RefObject<HTMLElement | null>) {
  const [active, setActive] = useState<string>()
  const isAwaited = useRef(false)
  useLayoutEffect(() => {
    if (active === undefined || !(isAwaited.current || document.activeElement === document.body)) return
    const link = scroller.current?.querySelector<HTMLElement>(`[data-session=${CSS.escape(active)}]`)
    link?.focus({ preventScroll: true })
    isAwaited.current &&= link === null
  })
  const focus = (id: string): void => {
    isAwaited.current = true
    setActive(id)
  }
  return [active, setActive, focus] as const
}

function useSessions(narrowing: string): SessionsViewModel {
  const viewModel = useMemo(() => new SessionsViewModel(server, listOptions(JSON.parse(narrowing) as object)), [narrowing])
  useEffect(() => {
    viewModel.want(1)
    const forget = serverLink.onReconnect(() => void viewModel.reload())
    return () => {
      forget()
      viewModel.close()
    }
  }, [viewModel])
  useWhileVisible((signal) => viewModel.follow(signal), viewModel)
  useSyncExternalStore(viewModel.subscribe, () => viewModel.version)
  return viewModel
}

function useNow(): number {
  const [nowMs, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  return nowMs
}
