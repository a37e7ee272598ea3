/** How the store is: what the server checks all the time, and what verifying every byte finds. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { useScope } from '../shell/caller.ts'
import { counted, full, sessionPath } from '../shell/format.ts'
import { attempt } from '../shell/notices.tsx'
import { server } from '../shell/server.ts'

interface Ready {
  readonly status: string
  readonly checks: {
    readonly store: string
    readonly worker: 'elsewhere' | { readonly running: number; readonly waiting: number; readonly failed: number }
    readonly breaker: string | null
    readonly disk: string
    readonly catalog: 'unavailable' | { readonly state: string; readonly lag: number }
  }
}
type Report = Awaited<ReturnType<typeof server.doctor>>

const REFRESH_MS = 5000

export function Health() {
  const { data } = useQuery({
    queryKey: ['ready'],
    refetchInterval: REFRESH_MS,
    queryFn: async () => (await (await fetch('/ready')).json()) as Ready,
  })
  return (
    <section>
      <h2>Health</h2>
      {data !== undefined && (
        <dl className="facts">
          <dt>Store</dt>
          <dd>{data.checks.store === 'ok' ? 'can be read' : data.checks.store}</dd>
          <dt>Disk</dt>
          <dd>{data.checks.disk === 'ok' ? 'takes what is written' : `the last write failed: ${data.checks.disk}`}</dd>
          <dt>Catalog</dt>
          <dd>{catalogText(data.checks.catalog)}</dd>
          <dt>Worker</dt>
          <dd>{workerText(data.checks)}</dd>
        </dl>
      )}
      <Doctor />
    </section>
  )
}

function catalogText(catalog: Ready['checks']['catalog']): string {
  if (catalog === 'unavailable') return 'cannot be used; lists and searches read the journals'
  return catalog.lag === 0 ? `${catalog.state}, nothing behind` : `${catalog.state}, ${counted(catalog.lag, 'session')} behind`
}

function workerText({ worker, breaker }: Ready['checks']): string {
  if (worker === 'elsewhere') return 'runs elsewhere'
  const open = breaker === 'open' ? '; the model’s provider does not answer, and is left alone for a while' : ''
  return `${counted(worker.running, 'task')} running, ${worker.waiting} waiting${open}`
}

function Doctor() {
  const scope = useScope()
  const [report, setReport] = useState<Report>()
  const [busy, setBusy] = useState(false)
  if (scope !== 'admin') return <p className="dim">Verifying the store needs a key with the scope “admin”.</p>
  const examine = async (): Promise<void> => {
    setBusy(true)
    await attempt(async () => setReport(await server.doctor()))
    setBusy(false)
  }
  return (
    <>
      <button type="button" disabled={busy} onClick={() => void examine()}>
        {busy ? 'Verifying…' : 'Verify every checksum'}
      </button>
      {report !== undefined && (
        <div role="status">
          <p>
            {counted(report.sessions, 'session')} verified:{' '}
            {report.findings.length === 0 ? 'everything is whole.' : counted(report.findings.length, 'finding')}
          </p>
          <ul>
            {report.findings.slice(0, 100).map((finding) => (
              <li key={JSON.stringify(finding)}>
                <Finding finding={finding} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  )
}

function Finding({ finding }: { readonly finding: Report['findings'][number] }) {
  const { session, kind, segment, offset, action } = finding
  return (
    <>
      <b>{kind}</b> {session !== '' && <Link href={sessionPath(session)}>{session}</Link>}{' '}
      {segment !== null && (
        <span className="dim">
          segment {segment}
          {offset !== null && `, byte ${full(offset)}`}
        </span>
      )}{' '}
      {action}
    </>
  )
}
