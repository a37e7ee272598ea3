/** A copy of a store that is taken while it is in use, opened elsewhere and verified: it must be a store as good as its original was at some moment. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { HoldfastError } from '../../src/errors.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { type Answer, digestOf, type Extent, nowUs } from './history.ts'
import { damageIn } from './looking.ts'
import { extentOf } from './wishes.ts'

/** `sessions` are those that are compared with what clients were told. */
export async function copyAndVerify(store: string, copies: string, sessions: readonly string[]): Promise<Answer> {
  mkdirSync(copies, { recursive: true })
  const copy = join(copies, String(nowUs()))
  try {
    await copyAll(store, copy)
    await using opened = await openStore(copy)
    const damage = await damageIn(opened)
    const seen: Extent[] = []
    for (const session of sessions) {
      try {
        const extent = await extentIn(opened, session)
        seen.push(extent)
        // Nothing keeps a copy from being used.
        if (extent.count > 0) await opened.session(session).append({ role: 'user', content: 'in the copy' })
      } catch (error) {
        if (!(error instanceof HoldfastError) || error.code !== 'DAMAGED') throw error
        damage.push({ session, what: `in the copy: ${error.message}` })
      }
    }
    return { told: 'ok', seen, damage }
  } finally {
    rmSync(copies, { recursive: true, force: true })
  }
}

async function copyAll(from: string, to: string): Promise<void> {
  // The library of faults has no place in it: what fails here is not the store.
  const { LD_PRELOAD: _, ...env } = process.env
  const child = spawn('cp', ['-a', from, to], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let complaint = ''
  child.stderr.on('data', (data: Buffer) => {
    complaint += data.toString()
  })
  await once(child, 'close')
  // Files that a purge, a compaction or a catalog removes in the meantime are not copied.
  const others = complaint.split('\n').filter((line) => line !== '' && !line.includes('No such file'))
  if (others.length > 0) throw new Error(`cp said: ${others.join('; ')}`)
}

async function extentIn(store: Store, session: string): Promise<Extent> {
  try {
    return await extentOf(store.session(session))
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== 'NOT_FOUND') throw error
    return { session, count: 0, digest: digestOf([]), title: null }
  }
}
