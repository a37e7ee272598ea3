/** What a session has lost: where, how much and why. A person can accept it. Until then a session whose bytes vanished refuses writes. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type DamagedPlace, damageText } from 'holdfast/client'
import { useState } from 'react'
import { useMayWrite } from '../shell/caller.ts'
import { ConfirmDialog } from '../shell/confirm-dialog.tsx'
import { counted, full, longTime } from '../shell/format.ts'
import { server } from '../shell/server.ts'
import { readDamage } from './read-damage.ts'

/** Reads the whole session, as only a complete read knows every place. */
export function useDamage(id: string, enabled: boolean) {
  return useQuery({ queryKey: ['session', id, 'damage'], enabled, queryFn: () => readDamage(server.session(id)) })
}

/** What the newest page lacks. A session that was written to after a loss has it there, unless much was said since. */
export function useNewestDamage(id: string, enabled: boolean) {
  const queryFn = async () => (await server.session(id).messages({ archived: true, limit: 1 })).damage
  return useQuery({ queryKey: ['session', id, 'newest-damage'], enabled, queryFn })
}

interface DamageBannerProps {
  readonly id: string
  readonly places: readonly DamagedPlace[]
  /** Nothing of the session is left, so that no read can say where. */
  readonly whole?: boolean
}

export function DamageBanner({ id, places, whole = false }: DamageBannerProps) {
  const mayWrite = useMayWrite()
  const [asking, setAsking] = useState(false)
  // What a fork inherits is accepted where it was lost.
  const open = places.filter(({ session, accepted }) => session === undefined && accepted !== true)
  const isAccepted = !whole && places.length > 0 && places.every(({ accepted }) => accepted === true)
  return (
    <section className={isAccepted ? 'damage accepted' : 'damage'} aria-label="Damage">
      <p>
        <b>{headline(places, whole, isAccepted)}</b> {!isAccepted && !whole && 'Everything else is whole.'}
      </p>
      {places.length > 0 && (
        <ul>
          {places.map((place) => (
            <li key={`${place.session ?? ''} ${place.position} ${place.reason}`}>{lineOf(place)}</li>
          ))}
        </ul>
      )}
      {!isAccepted && (
        <p>
          <code>holdfast doctor {id}</code> verifies it; a backup can bring the bytes back.
        </p>
      )}
      {mayWrite && (whole || open.length > 0) && (
        <button type="button" onClick={() => setAsking(true)}>
          Accept damage and continue
        </button>
      )}
      {asking && <AcceptDialog id={id} open={open} whole={whole} onClose={() => setAsking(false)} />}
    </section>
  )
}

function headline(places: readonly DamagedPlace[], whole: boolean, isAccepted: boolean): string {
  if (whole) return 'The journal of this session has vanished.'
  if (isAccepted) return `This session continues after a loss that was accepted: ${counted(places.length, 'place')}.`
  if (places.length === 0) return 'Part of this session cannot be read.'
  return `${counted(places.length, 'place')} of the journal cannot be read.`
}

function lineOf({ position, count, reason, session, accepted, since }: DamagedPlace): string {
  const lost = count === null ? 'an unknown number of messages' : counted(count, 'message')
  const from = session === undefined ? '' : ` of session ${session}`
  const time = since === undefined ? '' : `, after ${longTime(since)}`
  return `${reason}: ${lost} at position ${full(position)}${from}${time}${accepted === true ? ' (accepted)' : ''}`
}

interface AcceptDialogProps {
  readonly id: string
  readonly open: readonly DamagedPlace[]
  readonly whole: boolean
  readonly onClose: () => void
}

function AcceptDialog({ id, open, whole, onClose }: AcceptDialogProps) {
  const queries = useQueryClient()
  const accept = async (): Promise<void> => {
    await server.session(id).acceptDamage()
    await queries.invalidateQueries({ queryKey: ['session', id] })
  }
  return (
    <ConfirmDialog
      title="Accept the damage of this session"
      action="Accept and continue"
      doing="Accepting…"
      done="The session continues without what is lost."
      run={accept}
      onClose={onClose}
    >
      <p>
        <b>What is lost stays lost.</b> {whole ? 'All messages of this session have vanished.' : `In the journal, ${damageText(open)}.`} If
        you have a backup, restore the session from it instead.
      </p>
      {open.length > 0 && (
        <ul>
          {open.map((place) => (
            <li key={place.position}>{lineOf(place)}</li>
          ))}
        </ul>
      )}
      <p className="dim">New messages can be appended afterwards. Every read keeps reporting the damage, as accepted.</p>
    </ConfirmDialog>
  )
}
