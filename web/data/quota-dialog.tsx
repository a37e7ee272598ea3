/** Sets how much a space or a key may hold and add. */
import { useState } from 'react'
import { Dialog } from '../shell/dialog.tsx'
import type { Quoted } from './quotas.tsx'

interface QuotaDialogProps {
  readonly quoted: Quoted
  readonly onSave: (limits: Quoted['limits']) => void
  readonly onClose: () => void
}

const FIELDS = { sessions: 'Sessions', bytes: 'Bytes', messagesPerMinute: 'Messages a minute' } as const
type Field = keyof typeof FIELDS

export function QuotaDialog({ quoted: { name, key, limits }, onSave, onClose }: QuotaDialogProps) {
  const [values, setValues] = useState<Readonly<Partial<Record<Field, number>>>>(limits)
  const set = (field: Field, text: string): void => {
    const { [field]: _, ...others } = values
    setValues(text === '' ? others : { ...others, [field]: Number(text) })
  }
  return (
    <Dialog title={`Quota of ${name}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onSave(values)
        }}
      >
        <p className="dim">
          {key === undefined ? 'What the space may hold' : 'What this key may add'}. An empty field is no limit
          {key === undefined ? '.' : '; without any, what it has added is forgotten.'}
        </p>
        {Object.entries(FIELDS).map(([field, label]) => (
          <label key={field}>
            {label}
            <input
              type="number"
              min={0}
              step={1}
              placeholder="no limit"
              value={values[field as Field] ?? ''}
              onChange={(event) => set(field as Field, event.target.value)}
            />
          </label>
        ))}
        <div className="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary">
            Save
          </button>
        </div>
      </form>
    </Dialog>
  )
}
