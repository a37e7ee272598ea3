/** What narrows the list. It is kept in the address, so that a view can be bookmarked, sent and gone back to. */
import { useId, useState } from 'react'
import { useSearchParams } from 'wouter'
import { type Filters, filtersIn, ORDERS, STATUSES, TIMES, withFilters } from './filter-options.ts'

export function useFilters(): [Filters, (patch: Filters) => void, () => void] {
  const [params, setParams] = useSearchParams()
  const change = (patch: Filters): void => setParams((before) => withFilters(before, patch), { replace: 'q' in patch })
  return [filtersIn(params), change, () => setParams(new URLSearchParams())]
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
