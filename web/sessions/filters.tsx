/** What narrows the list. It is kept in the address, so that a view can be bookmarked, sent and gone back to. */
import { useId, useState } from 'react'
import { useSearchParams } from 'wouter'
import type { ListOptions } from './sessions-view-model.ts'

const NAMES = ['status', 'time', 'tag', 'model', 'owner', 'parent', 'order'] as const
type FilterName = (typeof NAMES)[number] | 'q'
export type Filters = Readonly<Partial<Record<FilterName, string>>>

const DAY_MS = 86_400_000
const TIMES: Readonly<Record<string, { readonly label: string; readonly ms: number }>> = {
  '1h': { label: 'last hour', ms: DAY_MS / 24 },
  '1d': { label: 'last day', ms: DAY_MS },
  '7d': { label: 'last week', ms: 7 * DAY_MS },
  '30d': { label: 'last 30 days', ms: 30 * DAY_MS },
}
const STATUSES = ['ok', 'damaged', 'unreadable', 'deleted'] as const
const ORDERS = { updated: 'last changed', created: 'newest', title: 'title' } as const

export function useFilters(): [Filters, (patch: Filters) => void, () => void] {
  const [params, setParams] = useSearchParams()
  const filters = Object.fromEntries([...params].filter(([, value]) => value !== '')) as Filters
  const change = (patch: Filters): void =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before)
        for (const [name, value] of Object.entries(patch)) value === undefined || value === '' ? next.delete(name) : next.set(name, value)
        return next
      },
      { replace: 'q' in patch },
    )
  return [filters, change, () => setParams(new URLSearchParams())]
}

/** As the list takes them. What stands in an address may be anything: what is no choice is left out. */
export function listOptions({ status, time, tag, model, owner, parent, order }: Filters): ListOptions {
  const range = time === undefined ? undefined : TIMES[time]
  return {
    ...(STATUSES.includes(status as 'ok') ? { status: status as 'ok' } : {}),
    ...(range === undefined ? {} : { from: new Date(Date.now() - range.ms) }),
    ...(tag === undefined ? {} : { tag }),
    ...(model === undefined ? {} : { model }),
    ...(owner === undefined ? {} : { owner }),
    ...(parent === undefined ? {} : { parent }),
    ...(order !== undefined && Object.hasOwn(ORDERS, order) ? { order: order as 'created' } : {}),
  }
}

interface FiltersProps {
  readonly filters: Filters
  readonly onChange: (patch: Filters) => void
}

export function FilterBar({ filters, onChange }: FiltersProps) {
  const chips = (['tag', 'model', 'owner', 'parent'] as const).filter((name) => filters[name] !== undefined)
  return (
    <div className="filters">
      <Choice
        label="Status"
        value={filters.status}
        choices={Object.fromEntries(STATUSES.map((status) => [status, status]))}
        any="all but deleted"
        onChange={(status) => onChange({ status })}
      />
      <Choice
        label="Time"
        value={filters.time}
        choices={Object.fromEntries(Object.entries(TIMES).map(([name, { label }]) => [name, label]))}
        any="any time"
        onChange={(time) => onChange({ time })}
      />
      <Choice
        label="Order"
        value={filters.order}
        choices={{ created: ORDERS.created, title: ORDERS.title }}
        any={ORDERS.updated}
        onChange={(order) => onChange({ order })}
      />
      <AddFilter onChange={onChange} />
      {chips.map((name) => (
        <span key={name} className="chip">
          {name}: <b>{filters[name]}</b>
          <button type="button" aria-label={`No longer by ${name}`} onClick={() => onChange({ [name]: undefined } as unknown as Filters)}>
            ×
          </button>
        </span>
      ))}
    </div>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly value: string | undefined
  readonly choices: Readonly<Record<string, string>>
  readonly any: string
  readonly onChange: (value: string) => void
}

function Choice({ label, value = '', choices, any, onChange }: ChoiceProps) {
  const id = useId()
  return (
    <span className="choice">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">{any}</option>
        {Object.entries(choices).map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </span>
  )
}

/** The ones that take a word: `tag`, `model`, `owner`, `parent`. */
function AddFilter({ onChange }: Pick<FiltersProps, 'onChange'>) {
  const [name, setName] = useState<'tag' | 'model' | 'owner' | 'parent'>('tag')
  const [value, setValue] = useState('')
  return (
    <form
      className="choice"
      onSubmit={(event) => {
        event.preventDefault()
        if (value.trim() !== '') onChange({ [name]: value.trim() })
        setValue('')
      }}
    >
      <select aria-label="Filter by" value={name} onChange={(event) => setName(event.target.value as 'tag')}>
        <option value="tag">tag</option>
        <option value="model">model</option>
        <option value="owner">owner</option>
        <option value="parent">parent</option>
      </select>
      <input
        aria-label={`Only sessions with this ${name}`}
        placeholder="is…"
        value={value}
        onChange={(event) => setValue(event.target.value)}
      />
    </form>
  )
}
