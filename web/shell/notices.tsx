/** Short notices at the bottom: what was done, with a way back where there is one, or what went wrong and what to do. */
import { useSyncExternalStore } from 'react'
import { messageOf } from './server.ts'

interface Notice {
  readonly id: number
  readonly text: string
  readonly kind: 'done' | 'failed'
  readonly undo?: (() => Promise<unknown>) | undefined
}

const DONE_MS = 8000
const FAILED_MS = 15_000

let notices: readonly Notice[] = []
let last = 0
const listeners = new Set<() => void>()

function set(next: readonly Notice[]): void {
  notices = next
  for (const listener of listeners) listener()
}

export function notify(text: string, { undo, kind = 'done' }: { undo?: () => Promise<unknown>; kind?: Notice['kind'] } = {}): void {
  const id = ++last
  set([...notices.slice(-2), { id, text, kind, undo }])
  setTimeout(() => dismiss(id), kind === 'done' ? DONE_MS : FAILED_MS)
}

function dismiss(id: number): void {
  if (notices.some((one) => one.id === id)) set(notices.filter((one) => one.id !== id))
}

/** Does something, and tells how it went. Tells whether it went well. */
export async function attempt(work: () => Promise<unknown>, done?: string, undo?: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    if (done !== undefined) notify(done, undo === undefined ? {} : { undo })
    return true
  } catch (error) {
    notify(messageOf(error), { kind: 'failed' })
    return false
  }
}

export async function copy(text: string, what = 'Copied'): Promise<void> {
  await attempt(() => navigator.clipboard.writeText(text), what)
}

export function Notices() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => notices,
  )
  return (
    <div className="notices" role="status" aria-live="polite">
      {shown.map(({ id, text, kind, undo }) => (
        <div key={id} className={`notice ${kind}`}>
          <span>{text}</span>
          {undo !== undefined && (
            <button
              type="button"
              onClick={() => {
                dismiss(id)
                void attempt(undo, 'Undone')
              }}
            >
              Undo
            </button>
          )}
          <button type="button" className="quiet" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  )
}
