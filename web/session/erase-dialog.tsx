/** Takes a message out of the store for ever: so it is asked first, and told what goes with it. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Dialog } from '../shell/dialog.tsx'
import { longTime } from '../shell/format.ts'
import { attempt } from '../shell/notices.tsx'
import { server } from '../shell/server.ts'
import type { StoredMessage } from './model.ts'
import type { ArchiveInfo } from './outline.ts'
import { useArchives } from './use-session.ts'

interface EraseDialogProps {
  readonly session: string
  readonly message: StoredMessage
  readonly onClose: () => void
}

export function EraseDialog({ session, message, onClose }: EraseDialogProps) {
  const queries = useQueryClient()
  const { data: archives = [] } = useArchives(session)
  const [busy, setBusy] = useState(false)
  const following = madeFrom(archives, message)
  const erase = async (): Promise<void> => {
    setBusy(true)
    const work = async (): Promise<void> => {
      await (await server.session(session)).erase(message.id)
      // Lists, searches and memories may have had its words.
      await queries.invalidateQueries()
    }
    if (await attempt(work, 'Erased. Its place stays; what it said is gone.')) onClose()
    setBusy(false)
  }
  return (
    <Dialog title="Erase this message" onClose={onClose}>
      <p>
        <b>This is for ever.</b> What was said on {longTime(message.at)} is written over in every file of the store, in all forks of this
        session, and in everything that it was before it was edited. Nothing brings it back; backups and exports that were made before still
        have it.
      </p>
      {following.length > 0 ? (
        <>
          <p>These summaries, and the memories from them, were made from it. They go too, and are made anew without it:</p>
          <ul>
            {following.map(({ number, abstract }) => (
              <li key={number}>
                Archive {number}
                {abstract === null ? '' : `: ${abstract}`}
              </li>
            ))}
          </ul>
        </>
      ) : (
        <p className="dim">No summary was made from it.</p>
      )}
      <div className="buttons">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="danger" disabled={busy} onClick={() => void erase()}>
          {busy ? 'Erasing…' : 'Erase for ever'}
        </button>
      </div>
    </Dialog>
  )
}

/** The archive that holds it, and those behind: each summary goes on from the one before. */
function madeFrom(archives: readonly ArchiveInfo[], { archive }: StoredMessage): ArchiveInfo[] {
  if (archive === null) return []
  return archives.filter(({ number, abstract }) => number >= archive && abstract !== null)
}
