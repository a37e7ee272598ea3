import { type Span, trace } from '@opentelemetry/api'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { Application } from './application.ts'

test('each request has a line in the log and its time in the metrics, and what was said is in neither', async () => {
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
  const app = await Application.open({ log })
  await app.post('/sessions/a/messages', { role: 'user', content: 'a secret' }, { headers: { 'x-request-id': 'r1' } })
  await app.get('/sessions/none')
  app.parts.requestLog.flush()
  const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  const key = app.key.slice(3, 19)
  expect(told).toMatchObject([
    { level: 30, msg: 'request', request: 'r1', method: 'POST', route: '/sessions/{id}/messages', status: 200, key, session: 'a' },
    { level: 30, msg: 'request', method: 'GET', route: '/sessions/{id}', status: 404, key, session: 'none' },
  ])
  for (const line of told) expect(line).toMatchObject({ time: expect.any(Number), ms: expect.any(Number) })
  expect(lines.join()).not.toContain('secret')
  const metrics = await (await app.raw('GET', '/metrics')).text()
  expect(metrics).toContain('holdfast_request_seconds_count{method="POST",route="/sessions/{id}/messages",status="200"} 1')
  expect(metrics).toContain('holdfast_appended_messages_total 1')
  expect(metrics).not.toContain('secret')
})

test('metrics count requests that were answered a moment ago, and a failure of the server is told at once', async () => {
  const lines: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) })
  const app = await Application.open({ log })
  for (let i = 0; i < 3; i++) await app.get('/whoami')
  expect(await (await app.raw('GET', '/metrics')).text()).toContain('route="/whoami",status="200"} 3')
  await app.store.close()
  expect((await app.get('/sessions/a')).status).toBe(503)
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 50, msg: 'request', route: '/sessions/{id}', status: 503 }])
})

test('each request is a span', async () => {
  interface Told {
    readonly name: string
    readonly attributes: Record<string, unknown>
    ended: boolean
  }
  const spans: Told[] = []
  const startSpan = (name: string): Span => {
    const told: Told = { name, attributes: {}, ended: false }
    spans.push(told)
    return {
      isRecording: () => true,
      setAttributes: (attributes: object) => Object.assign(told.attributes, attributes),
      setAttribute: (key: string, value: unknown) => Object.assign(told.attributes, { [key]: value }),
      setStatus: () => undefined,
      end: () => {
        told.ended = true
      },
    } as unknown as Span
  }
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) } as unknown as Parameters<typeof trace.setGlobalTracerProvider>[0])
  onTestFinished(() => trace.disable())
  const app = await Application.open()
  await app.post('/sessions/a/messages', { role: 'user', content: 'a secret' }, { headers: { 'x-request-id': 'r1' } })
  expect(spans).toMatchObject([
    {
      name: 'POST /sessions/{id}/messages',
      ended: true,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/sessions/{id}/messages',
        'http.response.status_code': 200,
        'gen_ai.conversation.id': 'a',
        'holdfast.request_id': 'r1',
      },
    },
  ])
  expect(JSON.stringify(spans)).not.toContain('secret')
})
