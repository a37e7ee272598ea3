/** The store at a glance: how much is written, what commits are at, how the store is. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { useScope } from '../shell/caller.ts'
import { ago, bytes, counted, full, sessionPath, short } from '../shell/format.ts'
import { attempt } from '../shell/notices.tsx'
import { Problem } from '../shell/problem.tsx'
import { server } from '../shell/server.ts'
import { Table } from '../shell/table.tsx'
import { DayChart } from './day-chart.tsx'
import { Health } from './health.tsx'
import '../style/overview.css'

type Stats = Awaited<ReturnType<typeof server.stats>>

const REFRESH_MS = 5000

export function OverviewPage() {
  const { data, error } = useQuery({ queryKey: ['stats'], queryFn: () => server.stats(), refetchInterval: REFRESH_MS })
  return (
    <main id="main" className="page overview" tabIndex={-1}>
      <h1>Overview</h1>
      <Problem error={error} />
      {data !== undefined && (
        <>
          <Tiles stats={data} />
          <Charts days={data.days} />
          <Usage stats={data} />
        </>
      )}
      <TaskTable />
      <Health />
    </main>
  )
}

function Tiles({ stats }: { readonly stats: Stats }) {
  const { sessions, messages, tokens, bytes: size, tasks } = stats
  const alive = sessions.ok + sessions.damaged + sessions.unreadable
  const tiles: [label: string, value: string, more: string][] = [
    ['Sessions', short(alive), sessions.deleted > 0 ? `and ${full(sessions.deleted)} deleted` : ''],
    ['Messages', short(messages.live + messages.archived), `${full(messages.archived)} in archives`],
    ['Tokens', short(tokens), 'by estimate'],
    ['On the disk', bytes(size), 'journals'],
    [
      'Commits',
      short(tasks.completed),
      tasks.failed > 0 ? `${full(tasks.failed)} failed` : `${full(tasks.pending + tasks.running)} under way`,
    ],
    ['Damaged', short(sessions.damaged + sessions.unreadable), sessions.damaged + sessions.unreadable === 0 ? 'none' : 'see below'],
  ]
  return (
    <dl className="tiles">
      {tiles.map(([label, value, more]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            {value}
            <span className="dim">{more}</span>
          </dd>
        </div>
      ))}
    </dl>
  )
}

const SERIES = { messages: 'Messages', tokens: 'Tokens', sessions: 'Sessions begun' } as const

function Charts({ days }: { readonly days: Stats['days'] }) {
  if (days.length === 0) return null
  return (
    <div className="charts">
      {Object.entries(SERIES).map(([name, label]) => (
        <section key={name} aria-label={`${label} per day`}>
          <h2>{label} per day</h2>
          <DayChart label={label} days={days.map((day) => ({ day: day.day, value: day[name as keyof typeof SERIES] }))} />
        </section>
      ))}
    </div>
  )
}

function Usage({ stats }: { readonly stats: Stats }) {
  if (stats.usage.length === 0) return null
  return (
    <section>
      <h2>Models</h2>
      <Table label="Models" heads={['model', 'calls', 'tokens in', 'tokens out']}>
        {stats.usage.map(({ model, calls, inputTokens, outputTokens }) => (
          <tr key={model}>
            <td>
              <Link href={`/?model=${encodeURIComponent(model)}`}>{model}</Link>
            </td>
            <td>{full(calls)}</td>
            <td>{full(inputTokens)}</td>
            <td>{full(outputTokens)}</td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

function TaskTable() {
  const queries = useQueryClient()
  const mayWrite = useScope() !== 'read'
  const [status, setStatus] = useState('')
  const { data: tasks = [] } = useQuery({
    queryKey: ['tasks', status],
    refetchInterval: REFRESH_MS,
    queryFn: () => server.tasks({ limit: 50, ...(status === '' ? {} : { status: status as 'failed' }) }),
  })
  const retryAll = () =>
    attempt(async () => {
      for await (const _ of server.retryTasks({ status: 'failed' }));
      await queries.invalidateQueries()
    }, 'Every failed task was begun again.')
  return (
    <section>
      <h2>
        Commit tasks{' '}
        <select aria-label="Which tasks" value={status} onChange={(event) => setStatus(event.target.value)}>
          <option value="">all</option>
          {['pending', 'running', 'completed', 'failed', 'cancelled'].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>{' '}
        {mayWrite && tasks.some((task) => task.status === 'failed') && (
          <button type="button" onClick={() => void retryAll()}>
            Retry all that failed
          </button>
        )}
      </h2>
      {tasks.length === 0 ? (
        <p className="dim">None. A commit moves what is live into an archive; its task makes the summary and the memories.</p>
      ) : (
        <Table label="Commit tasks">
          {tasks.map((task) => (
            <tr key={task.id}>
              <td>
                <span className={`badge ${task.status === 'failed' ? 'danger' : ''}`}>{task.status}</span>
              </td>
              <td>
                <Link href={sessionPath(task.session)}>{task.session}</Link>
              </td>
              <td>archive {task.archive}</td>
              <td>{task.error?.message ?? (task.result === null ? '' : counted(task.result.memories, 'memory', 'memories'))}</td>
              <td className="dim">{ago(task.updatedAt)}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}
