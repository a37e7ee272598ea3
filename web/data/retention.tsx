/** How long the space keeps things; what would go by that today; and letting it go. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { ConfirmDialog } from '../shell/confirm-dialog.tsx'
import { ago, counted, sessionPath } from '../shell/format.ts'
import { attempt, notify } from '../shell/notices.tsx'
import { Problem } from '../shell/problem.tsx'
import { server } from '../shell/server.ts'

type Policy = Awaited<ReturnType<typeof server.retention>>
type Expired = Awaited<ReturnType<ReturnType<typeof server.expire>['next']>>['value']

const DAY_MS = 86_400_000
const SHOWN = 100
const TIMES = {
  deleteIdleAfterMs: 'Delete sessions that nobody has changed for',
  dropArchivesAfterMs: 'Erase the messages of archives, and keep their summaries, after',
  purgeDeletedAfterMs: 'Purge what was deleted, after',
} as const
type Time = keyof typeof TIMES

const FATES: Readonly<Record<string, string>> = {
  deleted: 'would be deleted; it can be restored until it is purged',
  dropped: 'would lose its messages, for ever; its summary stays',
  purged: 'would be gone for ever',
  kept: 'stays: a fork still reaches it',
  failed: 'cannot be read',
}

export function Retention() {
  const { data, error } = useQuery({ queryKey: ['retention'], queryFn: () => server.retention() })
  const [saving, setSaving] = useState(false)
  return (
    <section>
      <h2>Retention</h2>
      <p className="dim">
        Nothing is let go by itself. Whoever runs <code>holdfast expire</code>, from a timer or below, goes by these times; an empty field
        keeps for ever, and a session may say otherwise for itself.
      </p>
      <Problem error={error} />
      {data !== undefined && (
        <>
          <PolicyForm policy={data} onSaving={setSaving} />
          <DryRun key={JSON.stringify(data)} policy={data} saving={saving} />
        </>
      )}
    </section>
  )
}

type Days = Readonly<Partial<Record<Time, string>>>

function PolicyForm({ policy, onSaving }: { readonly policy: Policy; readonly onSaving: (saving: boolean) => void }) {
  const queries = useQueryClient()
  // What somebody types stays, whatever others save meanwhile.
  const [typed, setTyped] = useState<Days>()
  const days = typed ?? daysOf(policy)
  const save = async (): Promise<void> => {
    onSaving(true)
    await attempt(async () => {
      const times = Object.entries(days).filter(([, value]) => value !== '')
      await server.setRetention(Object.fromEntries(times.map(([name, value]) => [name, Number(value) * DAY_MS])))
      await queries.invalidateQueries({ queryKey: ['retention'] })
      setTyped(undefined)
    }, 'Saved. Nothing has been let go yet.')
    onSaving(false)
  }
  return (
    <form
      className="times"
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      {Object.entries(TIMES).map(([name, label]) => (
        <label key={name}>
          {label}{' '}
          <input
            type="number"
            min={0}
            step="any"
            placeholder="never"
            value={days[name as Time] ?? ''}
            onChange={(event) => setTyped({ ...days, [name]: event.target.value })}
          />{' '}
          days
        </label>
      ))}
      <div>
        <button type="submit">Save</button>
      </div>
    </form>
  )
}

function daysOf(policy: Policy): Days {
  return Object.fromEntries(Object.entries(policy).map(([name, ms]) => [name, String((ms as number) / DAY_MS)]))
}

/**
 * What a policy would delete or purge, and the button that applies exactly this policy. While another policy is being saved, the question waits: its
 * answer would disappear.
 */
function DryRun({ policy, saving }: { readonly policy: Policy; readonly saving: boolean }) {
  const [found, setFound] = useState<readonly NonNullable<Expired>[]>()
  const [busy, setBusy] = useState(false)
  const [asking, setAsking] = useState(false)
  const look = async (): Promise<void> => {
    setBusy(true)
    await attempt(async () => setFound(await expire(policy, true)))
    setBusy(false)
  }
  const going = found?.filter(goes) ?? []
  return (
    <>
      <div className="buttons">
        <button type="button" disabled={busy || saving} onClick={() => void look()}>
          {busy ? 'Looking…' : 'What would go now?'}
        </button>
        {going.length > 0 && (
          <button type="button" className="danger" onClick={() => setAsking(true)}>
            Let it go…
          </button>
        )}
      </div>
      {found !== undefined && (
        <div role="status">
          <p>{going.length === 0 ? 'Nothing would go by the times that were saved.' : `${counted(going.length, 'thing')} would go.`}</p>
          <ul>
            {found.slice(0, SHOWN).map(({ session, action, archive, since }) => (
              <li key={`${session} ${action} ${archive ?? ''}`}>
                <Link href={sessionPath(session)}>{session}</Link>
                {archive === undefined ? '' : `, archive ${archive}`} {FATES[action]} <span className="dim">since {ago(since)}</span>
              </li>
            ))}
          </ul>
          {found.length > SHOWN && <p className="dim">The first {SHOWN} are shown.</p>}
        </div>
      )}
      {asking && <LetGo policy={policy} found={going} onClose={() => setAsking(false)} onDone={() => setFound(undefined)} />}
    </>
  )
}

interface LetGoProps {
  readonly policy: Policy
  readonly found: readonly NonNullable<Expired>[]
  readonly onClose: () => void
  readonly onDone: () => void
}

function LetGo({ policy, found, onClose, onDone }: LetGoProps) {
  const queries = useQueryClient()
  const count = (...actions: readonly string[]): number => found.filter(({ action }) => actions.includes(action)).length
  const [deleted, destroyed] = [count('deleted'), count('dropped', 'purged')]
  const run = async (): Promise<void> => {
    const done = await expire(policy, false)
    const failed = done.filter(({ action }) => action === 'failed').length
    if (failed > 0) notify(`${counted(failed, 'session')} could not be let go: verify the store, and try again.`, { kind: 'failed' })
    notify(`${counted(done.filter(goes).length, 'thing')} went.`)
    onDone()
    await queries.invalidateQueries()
  }
  return (
    <ConfirmDialog title="Let go of what is too old" action="Let it go" doing="Letting go…" run={run} onClose={onClose}>
      {destroyed > 0 && (
        <p>
          <b>This is for ever</b> for {counted(destroyed, 'session or archive', 'sessions and archives')}: their messages are destroyed.
        </p>
      )}
      {deleted > 0 && (
        <p>{counted(deleted, 'session')} are deleted, and can be restored until they are purged; with a time of 0 days, that is at once.</p>
      )}
      <p className="dim">What somebody has used since it was looked at stays.</p>
    </ConfirmDialog>
  )
}

function goes({ action }: NonNullable<Expired>): boolean {
  return action !== 'kept' && action !== 'failed'
}

async function expire(policy: Policy, dryRun: boolean): Promise<NonNullable<Expired>[]> {
  const all: NonNullable<Expired>[] = []
  for await (const one of server.expire({ ...policy, dryRun })) all.push(one)
  return all
}
