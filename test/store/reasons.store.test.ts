/** Errors whose code covers several cases say in `details.reason` which one it is. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { backUp, restoreBackup } from '../../src/engines/files/backup.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Session } from '../../src/store/session.ts'
import type { Store } from '../../src/store/store.ts'
import { restoreSession } from '../../src/transfer/restore-session.ts'
import { sourcesAt } from '../../src/transfer/sources.ts'

interface Given {
  readonly store: Store
  readonly session: Session
  /** A directory that holds nothing. */
  readonly empty: string
}

async function given(): Promise<Given> {
  const empty = mkdtempSync(join(tmpdir(), 'holdfast-'))
  onTestFinished(() => rmSync(empty, { recursive: true }))
  const store = await openStore('memory:')
  const session = store.session('talk')
  await session.append({ role: 'user', content: 'x' }, { ids: ['m1'] })
  return { store, session, empty }
}

test.each<[string, string, object, (of: Given) => Promise<unknown>]>([
  ['NOT_FOUND', 'no message', { message_id: 'm2' }, ({ session }) => session.fork({ at: 'm2' })],
  ['NOT_FOUND', 'no message', { message_id: 'm2' }, ({ session }) => session.messages({ branch: 'm2' })],
  ['NOT_FOUND', 'no message', { message_id: 'm2' }, ({ session }) => session.erase('m2')],
  ['NOT_FOUND', 'no message', { target: 'm2' }, ({ session }) => session.revert({ message: 'm2' })],
  ['NOT_FOUND', 'no snapshot', { target: 's' }, ({ session }) => session.revert({ snapshot: 's' })],
  ['NOT_FOUND', 'no archive', { archive: 3 }, ({ session }) => session.retractMemories(3)],
  ['NOT_FOUND', 'no task', { task_id: 'x' }, ({ store }) => store.task('x')],
  ['NOT_FOUND', 'no share', {}, ({ store }) => store.shared('x')],
  ['NOT_FOUND', 'no share', { share: 'x' }, ({ session }) => session.unshare('x')],
  ['NOT_FOUND', 'no path', {}, ({ empty }) => sourcesAt([join(empty, 'none')]).next()],
  ['NOT_FOUND', 'no store', {}, ({ empty }) => backUp(join(empty, 'none'), join(empty, 'backup'))],
  ['NOT_FOUND', 'no backup', {}, ({ empty }) => restoreBackup(empty, join(empty, 'store'))],
  ['NOT_FOUND', 'no backup', {}, ({ empty }) => restoreSession(empty, empty, 'talk')],
  ['FAILED_PRECONDITION', 'nothing to undo', {}, ({ session }) => session.undo()],
  ['FAILED_PRECONDITION', 'not encrypted', {}, ({ store }) => store.destroyKey('talk')],
  ['CONFLICT', 'name taken', { name: 'm1' }, ({ session }) => session.snapshot('m1')],
])('%s has the reason "%s" and %o', async (code, reason, details, call) => {
  await expect(call(await given())).rejects.toMatchObject({ code, details: { reason, ...details } })
})

test('a session that was deleted is named in the details, as one that is absent', async () => {
  const { store, session } = await given()
  await session.delete()
  const deleted = { reason: 'deleted', session_id: 'talk' }
  await expect(session.info()).rejects.toMatchObject({ code: 'NOT_FOUND', details: deleted })
  await expect(session.append({ role: 'user', content: 'y' })).rejects.toMatchObject({ code: 'CONFLICT', details: deleted })
  for await (const _ of store.purge({ olderThanMs: 0 }));
  await expect(session.restore()).rejects.toMatchObject({ code: 'NOT_FOUND', details: { reason: 'purged', session_id: 'talk' } })
})

test('a store that is opened twice as exclusive does not say that it was another process', async () => {
  const { empty } = await given()
  const first = await openStore(empty, { exclusive: true })
  const second = await openStore(empty, { exclusive: true })
  onTestFinished(async () => {
    await first.close()
    await second.close()
  })
  await expect(first.session('talk').append({ role: 'user', content: 'x' })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('in this process or in another one'),
    details: { reason: 'not exclusive' },
  })
})
