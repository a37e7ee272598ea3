/** Snapshots of a session: names for points of it, to come back to. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { SessionInfo } from '../sessions/sessions-view-model.ts'
import { Dialog } from '../shell/dialog.tsx'
import { counted, longTime } from '../shell/format.ts'
import { attempt } from '../shell/notices.tsx'
import { server } from '../shell/server.ts'

interface SnapshotsProps {
  readonly id: string
  readonly info: SessionInfo | undefined
  readonly onClose: () => void
}

export function SnapshotsDialog({ id, info, onClose }: SnapshotsProps) {
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const refresh = () => queries.invalidateQueries({ queryKey: ['session', id] })
  const take = () =>
    attempt(async () => {
      await server.session(id).snapshot(name.trim())
      await refresh()
      setName('')
    }, `Took the snapshot “${name.trim()}”.`)
  const revert = async (to: string): Promise<void> => {
    const undo = async (): Promise<void> => {
      await server.session(id).undo()
      await refresh()
    }
    const work = async (): Promise<void> => {
      await server.session(id).revert({ snapshot: to })
      await refresh()
    }
    if (await attempt(work, `Reverted to “${to}”. Nothing was destroyed.`, undo)) onClose()
  }
  const snapshots = info?.snapshots ?? []
  return (
    <Dialog title="Snapshots" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void take()
        }}
      >
        <label>
          Name of a new one, at the end as it is now
          <input value={name} onChange={(event) => setName(event.target.value)} />
        </label>
        <div className="buttons">
          <button type="submit" className="primary" disabled={name.trim() === ''}>
            Take a snapshot
          </button>
        </div>
      </form>
      {snapshots.length === 0 ? (
        <p className="dim">There is none yet. Reverting to one moves the end of the session there; what came behind is kept.</p>
      ) : (
        <ol className="timeline">
          {snapshots.map((snapshot) => (
            <li key={snapshot.name}>
              <b>{snapshot.name}</b>
              <span className="dim">
                {longTime(snapshot.takenAt)}, {counted(snapshot.messageCount, 'message')}
              </span>
              {snapshot.current ? (
                <span className="badge live">here</span>
              ) : (
                <button type="button" onClick={() => void revert(snapshot.name)}>
                  Revert to it
                </button>
              )}
            </li>
          ))}
        </ol>
      )}
    </Dialog>
  )
}
