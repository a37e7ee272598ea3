/** Who did what, the last deed first; never what was said. */
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import { full, longTime, sessionPath } from '../shell/format.ts'
import { Problem } from '../shell/problem.tsx'
import { server } from '../shell/server.ts'
import { Table } from '../shell/table.tsx'

type AuditInfo = NonNullable<Awaited<ReturnType<ReturnType<typeof server.audit>['next']>>['value']>

const DAY_MS = 86_400_000
const SHOWN = 200
/** In a file that is downloaded. */
const MOST = 10_000
const SPANS = { 1: 'the last day', 7: 'the last week', 30: 'the last 30 days' } as const

export function Audit() {
  const [days, setDays] = useState(1)
  const from = useMemo(() => new Date(Date.now() - days * DAY_MS), [days])
  const {
    data: entries = [],
    isSuccess,
    error,
  } = useQuery({
    queryKey: ['audit', days],
    queryFn: () => newest(from),
  })
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
        <a
          className="button"
          href={`/api/v1/audit?from=${encodeURIComponent(from.toISOString())}&order=newest&limit=${MOST}`}
          download="audit.json"
        >
          Download
        </a>
      </h2>
      <Problem error={error} />
      {isSuccess && entries.length === 0 && <p className="dim">Nobody did anything.</p>}
      {entries.length > 0 && (
        <Table label="Audit" heads={['when', 'who', 'what', 'session', 'outcome']}>
          {entries.slice(0, SHOWN).map((entry) => (
            <tr key={JSON.stringify(entry)}>
              <td className="dim">{longTime(entry.at)}</td>
              <td className="mono">{entry.key}</td>
              <td>
                {entry.action}
                {entry.count > 1 && `, ${full(entry.count)} times`}
              </td>
              <td>{entry.session !== null && <Link href={sessionPath(entry.session)}>{entry.session}</Link>}</td>
              <td>
                <span className={`badge ${entry.status >= 400 ? 'danger' : ''}`}>{entry.status}</span>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {entries.length > SHOWN && (
        <p className="dim">
          The last {SHOWN} are shown, and the download has the last {full(MOST)}. <code>holdfast audit --from {days}d</code> prints all.
        </p>
      )}
    </section>
  )
}

/** As many as are shown, and one more if there are more. */
async function newest(from: Date): Promise<AuditInfo[]> {
  const entries: AuditInfo[] = []
  for await (const entry of server.audit({ from, order: 'newest' })) if (entries.push(entry) > SHOWN) break
  return entries
}
