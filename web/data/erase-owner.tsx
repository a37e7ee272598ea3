/** Destroys everything of one person: shown first, then asked. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ConfirmDialog } from '../shell/confirm-dialog.tsx'
import { counted } from '../shell/format.ts'
import { attempt, notify } from '../shell/notices.tsx'
import { server } from '../shell/server.ts'

type Erased = NonNullable<Awaited<ReturnType<ReturnType<typeof server.erase>['next']>>['value']>

export function EraseOwner() {
  const [owner, setOwner] = useState('')
  const [found, setFound] = useState<{ readonly owner: string; readonly sessions: readonly Erased[] }>()
  const look = (): Promise<boolean> => attempt(async () => setFound({ owner, sessions: await erase(owner, true) }))
  return (
    <section>
      <h2>Erase an owner</h2>
      <p className="dim">
        Destroys every session of an owner, deleted or not, with its memories; of one that a fork of somebody else reaches, every message.
      </p>
      <form
        className="buttons"
        onSubmit={(event) => {
          event.preventDefault()
          void look()
        }}
      >
        <input aria-label="Owner" placeholder="owner" required value={owner} onChange={(event) => setOwner(event.target.value)} />
        <button type="submit">What would go?</button>
      </form>
      {found !== undefined && <Confirm {...found} onClose={() => setFound(undefined)} />}
    </section>
  )
}

interface ConfirmProps {
  readonly owner: string
  readonly sessions: readonly Erased[]
  readonly onClose: () => void
}

function Confirm({ owner, sessions, onClose }: ConfirmProps) {
  const queries = useQueryClient()
  const run = async (): Promise<void> => {
    const done = await erase(owner, false)
    const failed = done.filter(({ action }) => action === 'failed').length
    if (failed > 0) notify(`${counted(failed, 'session')} could not be erased: verify the store, and try again.`, { kind: 'failed' })
    else notify(`${counted(done.length, 'session')} of “${owner}” ${done.length === 1 ? 'is' : 'are'} gone.`)
    await queries.invalidateQueries()
  }
  return (
    <ConfirmDialog
      title={`Erase everything of “${owner}”`}
      action="Erase for ever"
      doing="Erasing…"
      run={run}
      onClose={onClose}
      disabled={sessions.length === 0}
    >
      {sessions.length === 0 ? (
        <p>There is no session of “{owner}”.</p>
      ) : (
        <>
          <p>
            <b>This is for ever.</b> {counted(sessions.length, 'session')} of “{owner}” would be destroyed, with what was said in{' '}
            {sessions.length === 1 ? 'it' : 'them'} and remembered of it. Nothing brings it back; backups and exports that were made before
            still have it.
          </p>
          <ul className="erased-sessions">
            {sessions.map(({ session, action }) => (
              <li key={session}>
                {session} {action === 'erased' && <span className="dim">its messages; a fork of somebody else keeps the rest</span>}
              </li>
            ))}
          </ul>
        </>
      )}
    </ConfirmDialog>
  )
}

async function erase(owner: string, dryRun: boolean): Promise<Erased[]> {
  const all: Erased[] = []
  for await (const one of server.erase({ owner, dryRun })) all.push(one)
  return all
}
