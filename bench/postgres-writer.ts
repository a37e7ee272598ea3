/** One of several processes that append to sessions of their own in one database. Started by `postgres-append`; tells its rate, and ends. */
import { openStore } from '../src/store/open-store.ts'
import { rateOf } from './harness.ts'
import { TEXT } from './session.ts'

const SESSIONS = 64
const [url, number, milliseconds] = process.argv.slice(2) as [string, string, string]

const store = await openStore(url)
const sessions = await Promise.all(Array.from({ length: SESSIONS }, (_, i) => store.session(`process ${number} session ${i}`)))
await Promise.all(sessions.map((session) => session.append({ role: 'user', content: TEXT })))
const rates = await Promise.all(
  sessions.map((session) => rateOf(Number(milliseconds), () => session.append({ role: 'user', content: TEXT }))),
)
process.send?.(rates.reduce((sum, rate) => sum + rate, 0))
await store.close()
process.disconnect()
