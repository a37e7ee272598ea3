import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { Server } from '../../src/server/server.ts'
import { openStore } from '../../src/store/open-store.ts'

test('a server that has lost its key ends the one that it had, and leaves those of other machines alone', async () => {
  const store = await openStore('memory:')
  const server = await Server.start(store, { port: 0, worker: false })
  onTestFinished(async () => {
    await server.stop()
    await store.close()
  })
  const here = await server.localKey(undefined, 'here')
  const there = await server.localKey(undefined, 'there')
  const again = await server.localKey(undefined, 'here')
  expect((await server.localKey(again.key, 'here')).key).toBe(again.key)
  const list = (key: string): Promise<unknown> => connect(server.url, { key }).list()
  await expect(list(here.key)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  await expect(list(there.key)).resolves.toMatchObject({ sessions: [] })
  await expect(list(again.key)).resolves.toMatchObject({ sessions: [] })
})
