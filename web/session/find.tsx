/** Finds words in the session: the index knows the messages, the page marks the words in those that are in sight. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { queryOf } from '../sessions/filter-options.ts'
import { useShortcuts } from '../shell/keyboard.ts'
import { messageOf } from '../shell/message-of.ts'
import { server } from '../shell/server.ts'
import { hitsText, newestFirst, wrapped } from './find-hits.ts'

interface FindProps {
  readonly id: string
  readonly onGo: (message: string) => void
}

const HITS = 200

export function Find({ id, onGo }: FindProps) {
  const [isOpen, setOpen] = useState(false)
  useShortcuts('Find', [{ keys: '/', about: 'Find in this session', run: () => setOpen(true) }])
  return (
    <div className="find-place">
      {isOpen ? (
        <FindBar id={id} onGo={onGo} onClose={() => setOpen(false)} />
      ) : (
        <button type="button" className="quiet" onClick={() => setOpen(true)} title="Find in this session (/)">
          Find
        </button>
      )}
    </div>
  )
}

function FindBar({ id, onGo, onClose }: FindProps & { readonly onClose: () => void }) {
  const [text, setText] = useState('')
  const [place, setPlace] = useState(0)
  const field = useRef<HTMLInputElement>(null)
  const query = text.trim()
  const { data, error } = useQuery({
    queryKey: ['session', id, 'find', query],
    enabled: query !== '',
    placeholderData: keepPreviousData,
    queryFn: () => server.search(queryOf(query), { session: id, kinds: ['message'], limit: HITS }),
  })
  const hits = query === '' ? [] : newestFirst(data?.hits ?? [])
  const go = (to: number): void => {
    const next = wrapped(to, hits.length)
    setPlace(next)
    const message = hits[next]?.message
    if (message != null) onGo(message)
  }
  useMarks(query)
  useEffect(() => field.current?.focus(), [])
  return (
    <search className="find">
      <input
        ref={field}
        type="search"
        aria-label="Find in this session"
        placeholder="Find in this session…"
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setPlace(-1)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') go(event.shiftKey ? place - 1 : place + 1)
          else if (event.key === 'Escape') onClose()
          else return
          event.preventDefault()
        }}
      />
      <span className="dim" role="status">
        {error !== null ? messageOf(error) : hitsText(query, place, hits.length, HITS)}
      </span>
      <button type="button" disabled={hits.length === 0} aria-label="Older" title="Older (Enter)" onClick={() => go(place + 1)}>
        ↑
      </button>
      <button type="button" disabled={hits.length === 0} aria-label="Newer" title="Newer (Shift Enter)" onClick={() => go(place - 1)}>
        ↓
      </button>
      <button type="button" className="quiet" aria-label="Close" onClick={onClose}>
        ×
      </button>
    </search>
  )
}

/** Marks words without touching what is drawn; where a browser cannot, nothing is marked. */
function useMarks(query: string): void {
  useEffect(() => {
    const root = document.querySelector('.transcript-body')
    const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
    if (root === null || words.length === 0 || !('highlights' in CSS)) return
    const mark = (): void => {
      CSS.highlights.set('find', new Highlight(...rangesOf(root, words)))
    }
    mark()
    const observer = new MutationObserver(mark)
    observer.observe(root, { childList: true, subtree: true, characterData: true })
    return () => {
      observer.disconnect()
      CSS.highlights.delete('find')
    }
  }, [query])
}

const MOST_RANGES = 500

function rangesOf(root: Element, words: readonly string[]): Range[] {
  const ranges: Range[] = []
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null && ranges.length < MOST_RANGES; node = walker.nextNode()) {
    const text = (node.nodeValue ?? '').toLowerCase()
    for (const word of words) {
      for (let at = text.indexOf(word); at !== -1 && ranges.length < MOST_RANGES; at = text.indexOf(word, at + word.length)) {
        const range = new Range()
        range.setStart(node, at)
        range.setEnd(node, at + word.length)
        ranges.push(range)
      }
    }
  }
  return ranges
}
