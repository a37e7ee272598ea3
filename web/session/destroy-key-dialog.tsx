/** Makes a session unreadable for ever, here and in every backup: so it is asked first. */
import { useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { ConfirmDialog } from '../shell/confirm-dialog.tsx'
import { server } from '../shell/server.ts'

export function DestroyKeyDialog({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const queries = useQueryClient()
  const [, go] = useLocation()
  const destroy = async (): Promise<void> => {
    await server.destroyKey(id)
    go('/')
    await queries.invalidateQueries()
  }
  return (
    <ConfirmDialog
      title="Destroy the key of this session"
      action="Destroy its key"
      doing="Destroying…"
      done="Its key is destroyed. Nobody can read the session any more."
      run={destroy}
      onClose={onClose}
    >
      <p>
        <b>This is for ever.</b> Without its key nobody can read what was said here: not in this store, not in a copy of it, and not in a
        backup, unless the backup has the keys too. Forks have keys of their own, and read no more what they share with this session.
      </p>
      <p className="dim">To take it out of the list and be able to bring it back, delete it instead.</p>
    </ConfirmDialog>
  )
}
