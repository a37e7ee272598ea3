/** A dialog of the browser's own: it holds the focus, closes with Escape, and keeps what lies behind it out of reach. */
import { type ReactNode, useEffect, useRef } from 'react'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  readonly className?: string
}

export function Dialog({ title, onClose, children, className = '' }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = element.current
    if (dialog?.open === false) dialog.showModal()
  }, [])
  return (
    <dialog
      ref={element}
      className={`dialog ${className}`}
      aria-label={title}
      onClose={onClose}
      onClick={(event) => event.target === element.current && onClose()}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <header>
        <h2>{title}</h2>
        <button type="button" className="quiet" aria-label="Close" onClick={onClose}>
          ×
        </button>
      </header>
      <div className="dialog-body">{children}</div>
    </dialog>
  )
}
