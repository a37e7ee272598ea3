/** What a server holds in memory after many appends over many sessions. */
import { join } from 'node:path'
import { residentBytes, startHoldfast } from './child-server.ts'
import { type Benchmark, figure } from './harness.ts'
import { load, postRequest } from './http-load.ts'
import { TEXT } from './session.ts'

export const httpMemory: Benchmark = {
  name: 'http-memory',
  about: 'Resident memory of a server, with the worker and the catalog inside, after 200,000 appends of 1 KiB over 2,000 sessions.',
  async run({ directory, quick }) {
    const [appends, sessions] = quick ? [4000, 200] : [200_000, 2000]
    const server = await startHoldfast(join(directory, 'store'))
    const body = JSON.stringify({ role: 'user', content: TEXT })
    try {
      let sent = 0
      const request = (): string => postRequest(`/api/v1/sessions/session-${sent++ % sessions}/messages`, body, { 'x-api-key': server.key })
      await load({ requests: appends }, { port: server.port, connections: 32, request })
      const megabytes = residentBytes(server.pid) / 1024 / 1024
      const what = `after ${appends.toLocaleString('en')} appends over ${sessions.toLocaleString('en')} sessions`
      return [figure(what, 'MB', [megabytes], { is: 'at most', value: 300 })]
    } finally {
      await server.stop()
    }
  },
}
