/** Asks before something that cannot be undone. It stays open until that has gone well, so that it can be tried again. */
import { type ReactNode, useState } from 'react'
import { Dialog } from './dialog.tsx'
import { attempt } from './notices.tsx'

interface ConfirmDialogProps {
  readonly title: string
  /** What is about to happen. */
  readonly children: ReactNode
  /** What the button says, and what it says while it happens. */
  readonly action: string
  readonly doing: string
  /** What is told once it is done; nothing if the work does so itself. */
  readonly done?: string
  readonly run: () => Promise<unknown>
  readonly onClose: () => void
  /** Nothing to confirm, or not yet. */
  readonly disabled?: boolean
}

export function ConfirmDialog({ title, children, action, doing, done, run, onClose, disabled = false }: ConfirmDialogProps) {
  const [busy, setBusy] = useState(false)
  const confirm = async (): Promise<void> => {
    setBusy(true)
    if (await attempt(run, done)) onClose()
    else setBusy(false)
  }
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <div className="buttons">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="danger" disabled={busy || disabled} onClick={() => void confirm()}>
          {busy ? doing : action}
        </button>
      </div>
    </Dialog>
  )
}
