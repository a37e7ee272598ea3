/** What a model would get for a budget: what is in, how many tokens each part takes, and what was left out and why. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { viewOf } from 'holdfast/client'
import { type ReactNode, useDeferredValue, useState } from 'react'
import { Link } from 'wouter'
import { counted, full, sessionPath } from '../shell/format.ts'
import { Problem } from '../shell/problem.tsx'
import { server } from '../shell/server.ts'
import '../style/window.css'

type Window = Awaited<ReturnType<Awaited<ReturnType<typeof server.session>>['window']>>

/** The slider goes from 2 to the power of this one to that one. */
const [LEAST, MOST] = [8, 20]
const SHOWN = 400

interface Part {
  readonly key: string
  readonly label: string
  readonly kind: string
  readonly tokens: number
  readonly text: string
  readonly message: string | null
}

export function WindowView({ id }: { readonly id: string }) {
  const [power, setPower] = useState(17)
  const [recall, setRecall] = useState('')
  const budget = Math.round(2 ** useDeferredValue(power))
  const query = useDeferredValue(recall.trim())
  const { data, error } = useQuery({
    queryKey: ['session', id, 'window', budget, query],
    queryFn: async () => server.session(id).window({ budget, ...(query === '' ? {} : { recall: query }) }),
    placeholderData: keepPreviousData,
  })
  return (
    <div className="window page">
      <div className="budget">
        <label>
          Budget: <b>{full(budget)}</b> tokens
          <input
            type="range"
            min={LEAST}
            max={MOST}
            step={0.125}
            value={power}
            aria-valuetext={`${full(budget)} tokens`}
            onChange={(event) => setPower(Number(event.target.value))}
          />
        </label>
        <label>
          Recall
          <input
            placeholder="words that memories and past messages match"
            value={recall}
            onChange={(event) => setRecall(event.target.value)}
          />
        </label>
      </div>
      <Problem error={error} />
      {data !== undefined && <Assembled id={id} window={data} budget={budget} />}
    </div>
  )
}

function Assembled({ id, window, budget }: { readonly id: string; readonly window: Window; readonly budget: number }) {
  const parts = partsOf(window)
  const kinds = [...new Set(parts.map(({ kind }) => kind))]
  const sums = kinds.map((kind) => ({
    kind,
    tokens: parts.filter((part) => part.kind === kind).reduce((sum, { tokens }) => sum + tokens, 0),
  }))
  const whole = Math.max(budget, window.tokens)
  return (
    <>
      <p>
        <b>{counted(window.tokens, 'token')}</b> of {full(budget)}, in {counted(window.messages.length, 'message')}
        {window.stats.includedArchives > 0 && ` and ${counted(window.stats.includedArchives, 'summary', 'summaries')}`}.
      </p>
      <div className="bar-of-parts" role="img" aria-label={sums.map(({ kind, tokens }) => `${kind}: ${full(tokens)} tokens`).join(', ')}>
        {sums.map(({ kind, tokens }) => (
          <span key={kind} className={kind} style={{ width: `${(tokens / whole) * 100}%` }} title={`${kind}: ${full(tokens)} tokens`} />
        ))}
      </div>
      <ul className="legend">
        {sums.map(({ kind, tokens }) => (
          <li key={kind}>
            <span className={`swatch ${kind}`} /> {kind} <span className="dim">{full(tokens)}</span>
          </li>
        ))}
      </ul>
      <LeftOut id={id} leftOut={window.leftOut} />
      <h2>What is in</h2>
      <ol className="parts">
        {parts.slice(-SHOWN).map((part) => (
          <li key={part.key} className="window-part">
            <span className={`swatch ${part.kind}`} />
            <span className="part-kind">{part.label}</span>
            <span className="part-text" dir="auto">
              {part.message === null ? (
                part.text
              ) : (
                <Link href={`${sessionPath(id)}?m=${encodeURIComponent(part.message)}`}>{part.text}</Link>
              )}
            </span>
            <span className="dim">{full(part.tokens)}</span>
          </li>
        ))}
      </ol>
      {parts.length > SHOWN && <p className="dim">The first {full(parts.length - SHOWN)} are not listed here.</p>}
    </>
  )
}

/** The server tells the tokens of all messages and of all summaries; what each of them takes is its share by length. */
function partsOf({ overview, abstracts, recalled, messages, origins, stats }: Window): Part[] {
  const before = [
    ...abstracts.map(({ archive, abstract }) => ({
      key: `a${archive}`,
      label: `archive ${archive}, in a line`,
      kind: 'summary',
      text: abstract,
    })),
    ...(overview === null ? [] : [{ key: 'overview', label: 'last summary', kind: 'summary', text: overview }]),
    ...recalled.map(({ id, kind, text }) => ({ key: `r${id}`, label: `recalled ${kind}`, kind: 'recalled', text })),
  ].map((part) => ({ ...part, message: null, length: part.text.length }))
  const said = messages.map((message, index) => {
    const { role = 'other', text, calls, results } = viewOf(message)
    const shown =
      text !== '' ? text : [...calls.map(({ name }) => `→ ${name}`), ...results.map(({ name }) => `← ${name ?? 'result'}`)].join(' ')
    const origin = origins[index] ?? null
    return {
      key: `m${index}`,
      label: origin === null ? `${role}, made up` : role,
      kind: role,
      text: shown.slice(0, 300) || '(no text)',
      message: origin?.id ?? null,
      length: JSON.stringify(message).length,
    }
  })
  return [...shared(before, stats.archiveTokens), ...shared(said, stats.activeTokens)]
}

function shared<T extends { readonly length: number }>(parts: readonly T[], tokens: number): (T & { readonly tokens: number })[] {
  const whole = parts.reduce((sum, { length }) => sum + length, 0)
  return parts.map((part) => ({ ...part, tokens: Math.round((part.length / Math.max(whole, 1)) * tokens) }))
}

const REASONS: Readonly<Record<string, string>> = {
  budget: 'no room in the budget',
  orphan: 'a result without its call',
  duplicate: 'answered before',
  empty: 'nothing in it',
  damaged: 'cannot be read',
}

function LeftOut({ id, leftOut }: { readonly id: string; readonly leftOut: Window['leftOut'] }) {
  if (leftOut.length === 0) return <p className="dim">Nothing was left out.</p>
  const line = (one: Window['leftOut'][number]): ReactNode => {
    const why = REASONS[one.reason] ?? one.reason
    if (one.kind === 'messages') return `${one.count === null ? 'Messages' : counted(one.count, 'older message')}: ${why}`
    const name = one.kind === 'message' || one.kind === 'result'
    return (
      <>
        {one.kind} {name ? <Link href={`${sessionPath(id)}?m=${encodeURIComponent(one.id)}`}>{one.id}</Link> : one.id}: {why}
      </>
    )
  }
  return (
    <details className="left-out">
      <summary>
        {counted(
          leftOut.reduce((sum, one) => sum + (one.kind === 'messages' ? (one.count ?? 1) : 1), 0),
          'thing',
        )}{' '}
        left out
      </summary>
      <ul>
        {leftOut.slice(0, SHOWN).map((one) => (
          <li key={JSON.stringify(one)}>{line(one)}</li>
        ))}
      </ul>
    </details>
  )
}
