/** What can be done from one message. */
import { type ReactNode, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { useMayWrite } from '../shell/caller.ts'
import { sessionPath } from '../shell/format.ts'
import { attempt, copy, notify } from '../shell/notices.tsx'
import { server } from '../shell/server.ts'
import { EraseDialog } from './erase-dialog.tsx'
import type { MessageDeeds } from './message-row.tsx'
import { RawRecord } from './raw-record.tsx'
import type { StoredMessage } from './transcript-view-model.ts'

export function useDeeds(id: string): { readonly deeds: MessageDeeds; readonly dialogs: ReactNode } {
  const [, go] = useLocation()
  const mayWrite = useMayWrite()
  const [raw, setRaw] = useState<StoredMessage>()
  const [erasing, setErasing] = useState<StoredMessage>()
  const deeds = useMemo((): MessageDeeds => {
    const link = (message: string): void =>
      void copy(`${location.origin}${sessionPath(id)}?m=${encodeURIComponent(message)}`, 'Copied a link to this message.')
    if (!mayWrite) return { link, raw: setRaw }
    return {
      link,
      raw: setRaw,
      erase: setErasing,
      fork: (message) =>
        void attempt(async () => {
          const fork = await server.session(id).fork({ at: message })
          go(sessionPath(fork.id))
          notify('This is the fork. It shares everything up to the message that you chose.')
        }),
      revert: (message) =>
        void attempt(
          async () => server.session(id).revert({ message }),
          'Reverted. What came behind that message is kept, on a branch of its own.',
          async () => server.session(id).undo(),
        ),
    }
  }, [id, mayWrite, go])
  const dialogs = (
    <>
      {raw !== undefined && <RawRecord session={id} message={raw} onClose={() => setRaw(undefined)} />}
      {erasing !== undefined && <EraseDialog session={id} message={erasing} onClose={() => setErasing(undefined)} />}
    </>
  )
  return { deeds, dialogs }
}
