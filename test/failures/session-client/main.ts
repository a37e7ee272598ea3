/**
 * A process that does to one session what it is told: each line of its input is a method with its arguments, each line of its output
 * what came of it. It keeps its store open all the while, so what it has in memory grows old.
 *
 *   node build/test/failures/session-client/main.js <directory> <session>
 */
import { createInterface } from 'node:readline'
import { openStore } from '../../../src/store/open-store.ts'

const [directory = '', id = ''] = process.argv.slice(2)
const store = await openStore(directory)
const session = store.session(id)

process.stdout.write('{"ready":true}\n')
for await (const line of createInterface(process.stdin)) {
  const [method, ...args] = JSON.parse(line) as [string, ...unknown[]]
  try {
    const call = Reflect.get(session, method) as (...args: unknown[]) => Promise<unknown>
    process.stdout.write(`${JSON.stringify({ value: (await call.apply(session, args)) ?? null })}\n`)
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ error: String(error) })}\n`)
  }
}
await store.close()
