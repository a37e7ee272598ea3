/** What the command line says about damage, and how it is accepted. The store method is stubbed: the command is what is tested. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { Server } from '../../src/server/server.ts'
import type { DamagedPlace } from '../../src/store/damage/damage.ts'
import { openStore } from '../../src/store/open-store.ts'
import { Session } from '../../src/store/session.ts'
import { Cli, objectsIn } from './holdfast.ts'

const PLACE: DamagedPlace = { position: 4711, count: 3, reason: 'vanished', since: '2026-11-16T00:00:00.000Z' }

/** The command line against a server of this process, whose store can be made to answer anything. */
async function remote(): Promise<Cli> {
  const store = await openStore('memory:')
  await store.session('a').append([{ role: 'user', content: 'x' }])
  const server = await Server.start(store, { port: 0, worker: false })
  const { key } = await server.localKey(undefined)
  onTestFinished(async () => {
    await server.stop()
    await store.close()
  })
  const cli = new Cli()
  cli.extra = { HOLDFAST_STORE: server.url, HOLDFAST_KEY: key }
  return cli
}

test('accept-damage prints what is accepted: for people a line for each place, with --json all fields', async () => {
  const cli = await remote()
  vi.spyOn(Session.prototype, 'acceptDamage').mockResolvedValue({ version: '7-00000000', duplicate: false, accepted: [PLACE] })
  expect(await cli.one('accept-damage', 'a')).toEqual({ session_id: 'a', version: '7-00000000', duplicate: false, accepted: [PLACE] })
  const { status, stdout, stderr } = await cli.run(['accept-damage', 'a'])
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'position 4711: 3 messages (vanished), after 2026-11-16T00:00:00.000Z\n' })
  expect(stderr).toContain('"a" continues.')
})

test('show warns on standard error, exits with 0, and with --json ends with a line that has the places', async () => {
  const cli = await remote()
  const { messages } = Session.prototype
  vi.spyOn(Session.prototype, 'messages').mockImplementation(async function (this: Session, options) {
    return { ...(await messages.call(this, options)), damage: [PLACE] }
  })
  const people = await cli.run(['show', 'a'])
  expect(people.status).toBe(0)
  expect(people.stderr).toContain('warning: 3 messages are missing at 1 place (vanished) in "a". Run `holdfast doctor a`')
  const { status, stdout, stderr } = await cli.run(['--json', 'show', 'a'])
  expect(status).toBe(0)
  // A line of standard output is a message, whatever else there is to say.
  expect(objectsIn(stdout)).toHaveLength(1)
  expect(objectsIn(stderr)).toMatchObject([{ warning: { details: { damage: [PLACE] } } }])
})

test('context has the places among its fields and warns', async () => {
  const cli = await remote()
  const { window } = Session.prototype
  vi.spyOn(Session.prototype, 'window').mockImplementation(async function (this: Session, options) {
    return { ...(await window.call(this, options)), damage: [PLACE] }
  })
  const { status, stdout, stderr } = await cli.run(['--json', 'window', 'a'])
  expect(status).toBe(0)
  expect(objectsIn(stdout)).toEqual([expect.objectContaining({ damage: [PLACE] })])
  expect(objectsIn(stderr)).toEqual([{ warning: expect.objectContaining({ message: expect.stringContaining('3 messages are missing') }) }])
})
