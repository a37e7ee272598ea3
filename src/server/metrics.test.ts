import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { Metrics } from './metrics.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** What a server has that was stopped. */
function left(): WeakRef<object> {
  const server = { count: 0 }
  const count = (): number => server.count
  new Metrics().read({
    ...{ inFlight: count, followers: count, waiting: count, heldBytes: count },
    worker: () => undefined,
    stats: () => Promise.resolve(undefined),
  })
  return new WeakRef(server)
}

test('a server that was stopped is not kept in memory by its metrics', async () => {
  const refs = [left(), left()]
  await new Promise((resolve) => setTimeout(resolve, 10))
  collectGarbage()
  expect(refs.map((ref) => ref.deref())).toEqual([undefined, undefined])
})

test('what the process has is told once, besides what the server has', async () => {
  const [metrics, other] = [new Metrics(), new Metrics()]
  metrics.request('GET', '/', 200, 1)
  const text = await metrics.text()
  expect(text.match(/^process_cpu_seconds_total /gm)).toHaveLength(1)
  expect(text.match(/^# TYPE nodejs_gc_duration_seconds /gm)).toHaveLength(1)
  expect(text).toContain('holdfast_request_seconds_count{method="GET",route="/",status="200"} 1')
  expect(await other.text()).not.toContain('route="/"')
})
