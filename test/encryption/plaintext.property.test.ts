/** Nothing that was said comes to where it could be read without the key: whatever was done with it, and also where it was refused. */
import { type Attributes, type Span, trace } from '@opentelemetry/api'
import fc from 'fast-check'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { formsOf, tracesOf } from '../erase/traces.ts'
import { Application } from '../server/application.ts'
import { useDirectory } from '../store/directory.ts'

const directory = useDirectory()

/** A word that stands nowhere else, among others. */
const marked = fc
  .tuple(fc.stringMatching(/^[A-Z]{10}$/), fc.string({ maxLength: 20 }))
  .map(([word, around]) => ({ word, text: `${around} ${word} ${around}` }))

type Way = (app: Application, session: string, text: string) => Promise<unknown>

/** Every way of saying something, and some of failing at it. */
const WAYS: Readonly<Record<string, Way>> = {
  message: (app, id, text) => app.post(`/sessions/${id}/messages`, { role: 'user', content: text, id: 'm' }),
  parts: (app, id, text) => app.post(`/sessions/${id}/messages`, { role: 'user', parts: [{ type: 'text', text }] }),
  batch: (app, id, text) =>
    app.post(`/sessions/${id}/messages/batch`, {
      messages: [
        { role: 'user', content: text },
        { role: 'tool', content: text },
      ],
    }),
  title: (app, id, text) => app.send('PATCH', `/sessions/${id}`, { body: { title: text, tags: [text.trim()], metadata: { note: text } } }),
  entry: (app, id, text) =>
    app.send('PUT', `/sessions/${id}/entries`, { body: { entries: [{ channel: 'c', key: 'k', value: { text } }] } }),
  replace: (app, id, text) => app.send('PUT', `/sessions/${id}/messages/m`, { body: { message: { role: 'user', content: text } } }),
  commit: (app, id) => app.post(`/sessions/${id}/commit`),
  fork: (app, id, text) => app.post(`/sessions/${id}/fork`, { title: text }),
  'another body under the same id': (app, id, text) => app.post(`/sessions/${id}/messages`, { role: 'user', content: `${text}!`, id: 'm' }),
  'what is no message': (app, id, text) => app.post(`/sessions/${id}/messages`, { role: { text } }),
  'what is no JSON': (app, id, text) => app.send('POST', `/sessions/${id}/messages`, { body: `{"role":"user","content":"${text}` }),
  'too deep': (app, id, text) =>
    app.post(`/sessions/${id}/messages`, {
      role: 'user',
      content: JSON.parse(`${'['.repeat(300)}${JSON.stringify(text)}${']'.repeat(300)}`),
    }),
  search: (app, _id, text) => app.get(`/search?q=${encodeURIComponent(text.trim())}`),
}

test('no word of a message reaches journal, feed, catalog, log, metrics, traces or the text of an error', async () => {
  const told: string[] = []
  const spans: unknown[] = []
  trace.setGlobalTracerProvider({
    getTracer: () => ({
      startSpan: (name: string) => {
        const add = (given: unknown): void => void spans.push(given)
        add(name)
        return {
          isRecording: () => true,
          setAttributes: (all: Attributes) => add(all),
          setAttribute: (...one: unknown[]) => add(one),
          setStatus: add,
          end: () => undefined,
        } as unknown as Span
      },
      startActiveSpan: () => {
        throw new Error('is not used')
      },
    }),
  })
  onTestFinished(() => trace.disable())
  const log = pino({ level: 'trace' }, { write: (line: string) => void told.push(line) })
  const app = await Application.open({ where: directory().path, encryption: { masterKey: Buffer.alloc(32, 5) }, log })
  let count = 0
  const words: string[] = []
  await fc.assert(
    fc.asyncProperty(
      marked,
      fc.array(fc.constantFrom(...Object.keys(WAYS)), { minLength: 1, maxLength: 6 }),
      async ({ word, text }, ways) => {
        words.push(word)
        const session = `s${count++}`
        const errors: string[] = []
        for (const way of ways) {
          const answer = (await WAYS[way]?.(app, session, text)) as { status: number; error?: unknown }
          if (answer.status >= 400) errors.push(JSON.stringify(answer.error))
        }
        expect(errors.filter((error) => error.includes(word))).toEqual([])
      },
    ),
    { numRuns: 40, seed: 20_261_115 },
  )
  const metrics = await (await app.raw('GET', '/metrics')).text()
  await app.parts.audit.flush()
  expect(spans.length).toBeGreaterThan(40)
  expect(told.length).toBeGreaterThan(40)
  const outside = [metrics, ...told, JSON.stringify(spans)].join('\n')
  expect(words.flatMap(formsOf).filter((form) => outside.includes(form))).toEqual([])
  expect(tracesOf(directory().path, ...words)).toEqual([])
})
