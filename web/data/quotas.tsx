/** How much the space and its keys may hold and add, how much of that is used, and setting it. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { bytes, full } from '../shell/format.ts'
import { attempt } from '../shell/notices.tsx'
import { Problem } from '../shell/problem.tsx'
import { server } from '../shell/server.ts'
import { Table } from '../shell/table.tsx'
import { QuotaDialog } from './quota-dialog.tsx'

type Limits = Awaited<ReturnType<typeof server.quota>>
type Used = Awaited<ReturnType<typeof server.quotaUsage>>

/** Of the space, or of one of its keys. */
export interface Quoted {
  readonly key: string | undefined
  readonly name: string
  readonly limits: Limits
  readonly used: Used
}

const REFRESH_MS = 15_000

export function Quotas() {
  const queries = useQueryClient()
  const [setting, setSetting] = useState<Quoted>()
  const { data = [], error } = useQuery({ queryKey: ['quotas'], queryFn: readQuotas, refetchInterval: REFRESH_MS })
  const save = async (limits: Limits, key: string | undefined): Promise<void> => {
    const of = key === undefined ? {} : { key }
    if (await attempt(() => server.setQuota(limits, of), 'The quota holds from now on.')) setSetting(undefined)
    await queries.invalidateQueries({ queryKey: ['quotas'] })
  }
  return (
    <section>
      <h2>Quotas</h2>
      <p className="dim">What goes beyond a limit is refused. What a key has added is counted from when it has a limit.</p>
      <Problem error={error} />
      <Table label="Quotas" heads={['whose', 'sessions', 'bytes', 'messages a minute', 'limits']}>
        {data.map((one) => (
          <tr key={one.key ?? ''}>
            <td>{one.name}</td>
            <td>
              <Share used={one.used?.sessions} limit={one.limits.sessions} shown={full} />
            </td>
            <td>
              <Share used={one.used?.bytes} limit={one.limits.bytes} shown={bytes} />
            </td>
            <td>{one.limits.messagesPerMinute === undefined ? 'no limit' : full(one.limits.messagesPerMinute)}</td>
            <td>
              <button type="button" className="quiet" aria-label={`Change the quota of ${one.name}`} onClick={() => setSetting(one)}>
                change
              </button>
            </td>
          </tr>
        ))}
      </Table>
      {setting !== undefined && (
        <QuotaDialog quoted={setting} onSave={(limits) => void save(limits, setting.key)} onClose={() => setSetting(undefined)} />
      )}
    </section>
  )
}

interface ShareProps {
  readonly used: number | undefined
  readonly limit: number | undefined
  readonly shown: (count: number) => string
}

function Share({ used, limit, shown }: ShareProps) {
  if (limit === undefined) return used === undefined ? 'no limit' : `${shown(used)}, no limit`
  if (used === undefined) return shown(limit)
  return (
    <>
      <meter min={0} max={Math.max(limit, 1)} high={limit * 0.9} optimum={0} value={used} aria-hidden="true" /> {shown(used)} of{' '}
      {shown(limit)}
      {used >= limit && <span className="badge danger">full</span>}
    </>
  )
}

async function readQuotas(): Promise<Quoted[]> {
  const keys = (await server.keys()).filter(({ revokedAt }) => revokedAt === null)
  const of = async (key: string | undefined, name: string): Promise<Quoted> => {
    const whose = key === undefined ? {} : { key }
    const [limits, used] = await Promise.all([server.quota(whose), server.quotaUsage(whose)])
    return { key, name, limits, used }
  }
  return Promise.all([of(undefined, 'this space'), ...keys.map(({ id, name }) => of(id, name ?? `key ${id}`))])
}
