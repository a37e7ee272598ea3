/** Takes a message out of the store for ever: so it is asked first, and told what goes with it. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { ConfirmDialog } from '../shell/confirm-dialog.tsx'
import { longTime } from '../shell/format.ts'
import { Problem } from '../shell/problem.tsx'
import { server } from '../shell/server.ts'
import type { ArchiveInfo } from './outline.ts'
import type { StoredMessage } from './transcript-view-model.ts'

interface EraseDialogProps {
  readonly session: string
  readonly message: StoredMessage
  readonly onClose: () => void
}

export function EraseDialog({ session, message, onClose }: EraseDialogProps) {
  const queries = useQueryClient()
  // Asked for now: a commit may have taken it since it was shown.
  const { data: following, error } = useQuery({
    queryKey: ['session', session, 'made from', message.id],
    queryFn: async () => madeFrom(await server.session(session).archives(), message),
    staleTime: 0,
    gcTime: 0,
  })
  const erase = async (): Promise<void> => {
    await server.session(session).erase(message.id)
    // Lists, searches and memories may have had its words.
    await queries.invalidateQueries()
  }
  return (
    <ConfirmDialog
      title="Erase this message"
      action="Erase for ever"
      doing="Erasing…"
      done="Erased. Its place stays; what it said is gone."
      run={erase}
      onClose={onClose}
      disabled={following === undefined}
    >
      <p>
        <b>This is for ever.</b> What was said on {longTime(message.at)} is written over in every file of the store, in all forks of this
        session, and in everything that it was before it was edited. Nothing brings it back; backups and exports that were made before still
        have it.
      </p>
      <Problem error={error} />
      {following === undefined ? (
        error === null && <p className="dim">Looking which summaries were made from it…</p>
      ) : following.length > 0 ? (
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
    </ConfirmDialog>
  )
}

/** The archive that holds it, and those behind: each summary goes on from the one before. */
function madeFrom(archives: readonly ArchiveInfo[], { depth }: StoredMessage): ArchiveInfo[] {
  const holding = archives.find(({ spans }) => spans.some(({ from, to }) => from <= depth && depth <= to))
  return archives.filter(({ number, abstract }) => holding !== undefined && number >= holding.number && abstract !== null)
}
