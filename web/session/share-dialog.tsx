/** Shares: before one is made, exactly what becomes public; afterwards its link, this once; and a way to take each back. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { SessionInfo } from '../sessions/sessions-view-model.ts'
import { Dialog } from '../shell/dialog.tsx'
import { counted, longTime } from '../shell/format.ts'
import { attempt } from '../shell/notices.tsx'
import { server } from '../shell/server.ts'
import { Snippet } from '../shell/snippet.tsx'

const DAY_MS = 86_400_000
const LASTING = { '1': 'a day', '7': 'a week', '30': 'a month', '': 'until it is revoked' } as const

interface ShareProps {
  readonly id: string
  readonly info: SessionInfo | undefined
  readonly onClose: () => void
}

export function ShareDialog({ id, info, onClose }: ShareProps) {
  const queries = useQueryClient()
  const [days, setDays] = useState('7')
  const [link, setLink] = useState<string>()
  const refresh = () => queries.invalidateQueries({ queryKey: ['session', id] })
  const share = () =>
    attempt(async () => {
      const options = days === '' ? {} : { expiresAt: new Date(Date.now() + Number(days) * DAY_MS) }
      const { token } = await server.session(id).share(options)
      setLink(`${location.origin}/shared/${token}`)
      await refresh()
    })
  const revoke = (share_: string) =>
    attempt(async () => {
      await server.session(id).unshare(share_)
      await refresh()
    }, 'Revoked: the link opens nothing any longer.')
  return (
    <Dialog title="Share" onClose={onClose}>
      <p>Whoever has the link can read, without a key:</p>
      <ul>
        <li>
          the title{info?.title == null ? ', which is empty' : ''}: <b>{info?.title}</b>
        </li>
        <li>the {counted(info?.totalMessageCount ?? 0, 'message')} up to now, with their tool calls and results, archived ones too</li>
      </ul>
      <p className="dim">Not public: what is appended later, tags, owner, metadata, memories, other branches.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void share()
        }}
      >
        <label>
          For how long
          <select value={days} onChange={(event) => setDays(event.target.value)}>
            {Object.entries(LASTING).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <div className="buttons">
          <button type="submit" className="primary">
            Make a link
          </button>
        </div>
      </form>
      {link !== undefined && (
        <>
          <p>
            <b>The link, shown this once:</b>
          </p>
          <Snippet label="Link" text={link} />
        </>
      )}
      {(info?.shares.length ?? 0) > 0 && (
        <>
          <h3>Shares</h3>
          <ol className="timeline">
            {info?.shares.map(({ id: one, grantedAt, expiresAt, messageCount }) => (
              <li key={one}>
                <span>
                  {counted(messageCount, 'message')}, made {longTime(grantedAt)}
                  <span className="dim"> {expiresAt === null ? 'does not expire' : `until ${longTime(expiresAt)}`}</span>
                </span>
                <button type="button" className="danger" onClick={() => void revoke(one)}>
                  Revoke
                </button>
              </li>
            ))}
          </ol>
        </>
      )}
    </Dialog>
  )
}
