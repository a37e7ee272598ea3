import { useSyncExternalStore } from 'react'
import { NoticesViewModel } from './notices-view-model.ts'

const notices = new NoticesViewModel()

export const notify = notices.notify.bind(notices)
export const attempt = notices.attempt.bind(notices)

export async function copy(text: string, what = 'Copied'): Promise<void> {
  await attempt(() => navigator.clipboard.writeText(text), what)
}

export function Notices() {
  const shown = useSyncExternalStore(notices.subscribe, () => notices.shown)
  return (
    <div className="notices" role="status" aria-live="polite">
      {shown.map((notice) => (
        <div key={notice.id} className={`notice ${notice.kind}`}>
          <span>{notice.text}</span>
          {notice.undo !== undefined && (
            <button type="button" onClick={() => void notices.undo(notice)}>
              Undo
            </button>
          )}
          <button type="button" className="quiet" aria-label="Dismiss" onClick={() => notices.dismiss(notice.id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  )
}
