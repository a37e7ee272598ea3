/** A dialog of the browser's own: it holds the focus, closes with Escape, and keeps what lies behind it out of reach. */
import { type ReactNode, useLayoutEffect, useRef } from 'react'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  readonly className?: string
}

export function Dialog({ title, onClose, children, className = '' }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const dialog = element.current
    if (dialog?.open === false) dialog.showModal()
    // One that is only taken away does not give the focus back to where it was.
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={element}
      className={`dialog ${className}`}
      aria-label={title}
      // It may have been opened again since.
      onClose={() => element.current?.open !== true && onClose()}
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
