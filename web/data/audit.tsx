/** Who did what, the last deed first; never what was said. */
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import { full, longTime, sessionPath } from '../shell/format.ts'
import { messageOf, server } from '../shell/server.ts'

const DAY_MS = 86_400_000
const SHOWN = 200
const READ = 10_000
const SPANS = { 1: 'the last day', 7: 'the last week', 30: 'the last 30 days' } as const

export function Audit() {
  const [days, setDays] = useState(1)
  const from = useMemo(() => new Date(Date.now() - days * DAY_MS), [days])
  const { data, error } = useQuery({
    queryKey: ['audit', days],
    queryFn: () => server.audit({ from, limit: READ }),
  })
  const entries = data?.toReversed() ?? []
  return (
    <section>
      <h2>
        Audit{' '}
        <select aria-label="Of how long" value={days} onChange={(event) => setDays(Number(event.target.value))}>
          {Object.entries(SPANS).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>{' '}
        <a className="button" href={`/api/v1/audit?from=${encodeURIComponent(from.toISOString())}&limit=${READ}`} download="audit.json">
          Download
        </a>
      </h2>
      {error !== null && (
        <p className="problem" role="alert">
          {messageOf(error)}
        </p>
      )}
      {data !== undefined && entries.length === 0 && <p className="dim">Nobody did anything.</p>}
      {entries.length > 0 && (
        <div className="table" tabIndex={0} role="group" aria-label="Audit">
          <table>
            <thead>
              <tr>
                <th>when</th>
                <th>who</th>
                <th>what</th>
                <th>session</th>
                <th>outcome</th>
              </tr>
            </thead>
            <tbody>
              {entries.slice(0, SHOWN).map((entry) => (
                <tr key={JSON.stringify(entry)}>
                  <td className="dim">{longTime(entry.at)}</td>
                  <td className="mono">{entry.key_id}</td>
                  <td>
                    {entry.action}
                    {entry.count > 1 && `, ${full(entry.count)} times`}
                  </td>
                  <td>{entry.session_id !== null && <Link href={sessionPath(entry.session_id)}>{entry.session_id}</Link>}</td>
                  <td>
                    <span className={`badge ${entry.status >= 400 ? 'danger' : ''}`}>{entry.status}</span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {entries.length > SHOWN && (
        <p className="dim">
          The last {SHOWN} are shown, the download has {full(entries.length)}. `holdfast audit` prints all.
        </p>
      )}
    </section>
  )
}
