/** What is kept in the space, how much and for how long, and who did what: for whoever answers for it. */
import { useCaller } from '../shell/caller.ts'
import { Problem } from '../shell/problem.tsx'
import { Audit } from './audit.tsx'
import { EraseOwner } from './erase-owner.tsx'
import { Quotas } from './quotas.tsx'
import { Retention } from './retention.tsx'
import '../style/overview.css'
import '../style/data.css'

export function DataPage() {
  const { data: caller, error } = useCaller()
  return (
    <main id="main" className="page overview data" tabIndex={-1}>
      <h1>Data</h1>
      <Problem error={error} />
      {caller !== undefined && caller.scope !== 'admin' && <p className="dim">This page needs a key with the scope “admin”.</p>}
      {caller?.scope === 'admin' && (
        <>
          <Quotas />
          <Retention />
          <EraseOwner />
          <Audit />
        </>
      )}
    </main>
  )
}
