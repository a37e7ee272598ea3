/** The transcript: any number of messages, scrolled both ways, that grows at the end while agents write and keeps its place meanwhile. */
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { full, longTime } from '../shell/format.ts'
import { Icon } from '../shell/icon.tsx'
import { useShortcuts } from '../shell/keyboard.ts'
import { messageOf } from '../shell/message-of.ts'
import { Prose } from './markdown.tsx'
import { type Folds, type MessageDeeds, MessageRow } from './message-row.tsx'
import { type ArchiveInfo, Outline } from './outline.ts'
import type { TranscriptViewModel } from './transcript-view-model.ts'

interface TranscriptProps {
  readonly viewModel: TranscriptViewModel
  readonly archives: readonly ArchiveInfo[]
  readonly deeds: MessageDeeds
  /** The message to show, of which the depth is known. */
  readonly target: { readonly id: string; readonly depth: number } | undefined
  /** Where to begin, if there is no message to show: at the end unless told. */
  readonly opensAt?: 'beginning' | 'end'
  readonly empty: ReactNode
}

const ESTIMATE_PX = 110
/** Rows in front of and behind those in sight that are read too. */
const AHEAD = 60
const END_PX = 80

export function Transcript(props: TranscriptProps) {
  const { viewModel, empty } = props
  useSyncExternalStore(viewModel.subscribe, () => viewModel.version)
  const problem = viewModel.error === undefined ? undefined : messageOf(viewModel.error)
  return (
    <div className="transcript" aria-busy={!viewModel.isOpen}>
      {problem !== undefined && (
        <p className="problem banner" role="alert">
          {problem}
        </p>
      )}
      {viewModel.isOpen && (viewModel.total === 0 ? <div className="transcript-empty">{empty}</div> : <Rows {...props} />)}
    </div>
  )
}

function Rows({ viewModel, archives, deeds, target, opensAt = 'end' }: TranscriptProps) {
  const folds = useFolds()
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set())
  const scroller = useRef<HTMLDivElement>(null)
  const { total } = viewModel
  const outline = useMemo(() => new Outline(total, archives, open), [total, archives, open])
  const [isAtEnd, setAtEnd] = useState(true)
  const seen = useRef(total)
  const virtual = useVirtualizer({
    count: outline.count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ESTIMATE_PX,
    // Near where it is to begin, so that nothing is read and drawn elsewhere first.
    initialOffset: () => ESTIMATE_PX * (target !== undefined ? outline.find(target.depth).row : opensAt === 'end' ? outline.count : 0),
    getItemKey: (row) => outline.keyOf(row),
    overscan: 4,
    anchorTo: opensAt === 'end' ? 'end' : 'start',
    followOnAppend: opensAt === 'end',
    scrollEndThreshold: END_PX,
    onChange: (instance) => setAtEnd(instance.isAtEnd(END_PX)),
  })
  const items = virtual.getVirtualItems()
  const [first, last] = [items[0]?.index, items.at(-1)?.index]
  useEffect(() => {
    if (first === undefined || last === undefined) return
    const [from, to] = [outline.at(Math.max(first - AHEAD, 0)), outline.at(Math.min(last + AHEAD, outline.count - 1))]
    viewModel.want(from.kind === 'message' ? from.depth : spanStart(from.archive), to.kind === 'message' ? to.depth : spanStart(to.archive))
  }, [viewModel, outline, first, last])
  if (isAtEnd) seen.current = total

  const toEnd = (): void => virtual.scrollToEnd()
  usePlace(virtual, outline, { target, opensAt }, setOpen)
  const step = (by: number): void => scroller.current?.scrollBy({ top: by * 160 })
  useShortcuts('Transcript', [
    { keys: 'j', about: 'Down', run: () => step(1) },
    { keys: 'k', about: 'Up', run: () => step(-1) },
    { keys: 'G', about: 'To the end', run: toEnd },
    { keys: 'g g', about: 'To the beginning', run: () => virtual.scrollToIndex(0, { align: 'start' }) },
  ])

  const fresh = total - seen.current
  return (
    <>
      <div ref={scroller} className="transcript-scroller" tabIndex={0} role="log" aria-label="Messages" aria-live="off">
        <div className="transcript-body" style={{ height: virtual.getTotalSize() }}>
          <div className="transcript-window" style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>
            {items.map(({ index, key }) => {
              const place = outline.at(index)
              return (
                <div key={key as number} data-index={index} ref={virtual.measureElement}>
                  {place.kind === 'chapter' ? (
                    <Chapter
                      archive={place.archive}
                      isOpen={open.has(place.archive.number)}
                      onToggle={(number) => setOpen(toggled(open, number))}
                    />
                  ) : (
                    <Row depth={place.depth} viewModel={viewModel} folds={folds} deeds={deeds} target={target?.id} />
                  )}
                </div>
              )
            })}
          </div>
        </div>
      </div>
      {!isAtEnd && (
        <button type="button" className="to-end" onClick={toEnd}>
          <Icon name="down" /> {fresh > 0 ? `${full(fresh)} new` : 'To the end'}
        </button>
      )}
    </>
  )
}

interface RowProps {
  readonly depth: number
  readonly viewModel: TranscriptViewModel
  readonly folds: Folds
  readonly deeds: MessageDeeds
  readonly target: string | undefined
}

function Row({ depth, viewModel, folds, deeds, target }: RowProps) {
  const message = viewModel.at(depth)
  if (message === undefined) return <div className="message ghost" />
  if (message === null) {
    return (
      <div className="message damaged" role="note">
        Message {full(depth)} cannot be read: its record is damaged. The others are whole; <code>holdfast doctor</code> tells more.
      </div>
    )
  }
  return <MessageRow message={message} viewModel={viewModel} folds={folds} deeds={deeds} isTarget={message.id === target} />
}

interface ChapterProps {
  readonly archive: ArchiveInfo
  readonly isOpen: boolean
  readonly onToggle: (number: number) => void
}

function Chapter({ archive, isOpen, onToggle }: ChapterProps) {
  const { number, status, messageCount, abstract, overview, memories, createdAt, error } = archive
  return (
    <section className="chapter" aria-label={`Archive ${number}`}>
      <button type="button" aria-expanded={isOpen} onClick={() => onToggle(number)}>
        <Icon name={isOpen ? 'down' : 'right'} />
        <b>Archive {number}</b>
        <span className="dim">
          {full(messageCount)} messages, {longTime(createdAt)}
        </span>
        {status !== 'completed' && <span className={`badge ${status === 'failed' ? 'danger' : ''}`}>{status}</span>}
      </button>
      {error !== null && <p className="problem">{error.message}</p>}
      {abstract !== null && !isOpen && <p className="abstract">{abstract}</p>}
      {overview !== null && isOpen && <Prose text={overview} />}
      {memories.length > 0 && (
        <details>
          <summary>{memories.length === 1 ? '1 memory' : `${memories.length} memories`}</summary>
          <ul>
            {memories.map(({ id, category, text }) => (
              <li key={id}>
                <span className="badge">{category}</span> {text}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  )
}

/** Goes to a message once it is known where that is; to the end, if there is none. */
function usePlace(
  virtual: { scrollToIndex: (row: number, options: { align: 'center' }) => void; scrollToEnd: () => void },
  outline: Outline,
  { target, opensAt }: { readonly target: TranscriptProps['target']; readonly opensAt: 'beginning' | 'end' },
  setOpen: (change: (open: ReadonlySet<number>) => ReadonlySet<number>) => void,
): void {
  const placed = useRef<string | undefined>(undefined)
  useEffect(() => {
    const wanted = target?.id ?? ''
    if (placed.current === wanted) return
    if (target === undefined) {
      // A target that goes away leaves everything where it is.
      if (placed.current === undefined && opensAt === 'end') virtual.scrollToEnd()
      placed.current = wanted
      return
    }
    const { row, closed } = outline.find(target.depth)
    if (closed !== undefined) return setOpen((open) => new Set([...open, closed]))
    placed.current = wanted
    virtual.scrollToIndex(row, { align: 'center' })
  }, [virtual, outline, target, opensAt, setOpen])
}

function useFolds(): Folds {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  return useMemo(() => ({ has: (key) => opened.has(key), toggle: (key) => setOpened((before) => toggled(before, key)) }), [opened])
}

function toggled<T>(set: ReadonlySet<T>, member: T): ReadonlySet<T> {
  const next = new Set(set)
  if (!next.delete(member)) next.add(member)
  return next
}

function spanStart({ spans }: ArchiveInfo): number {
  return spans[0]?.from ?? 1
}
