import { pino } from 'pino'
import { expect, test } from 'vitest'
import { eventsIn, type ServerEvent } from '../../src/client/event-source.ts'
import type { Engine } from '../../src/engine/port.ts'
import { Application } from './application.ts'

/** Events of a stream, one at a time. */
async function follow(app: Application, path: string, lastEventId?: string): Promise<AsyncGenerator<ServerEvent>> {
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
  const response = await app.raw('GET', `/api/v1${path}`, { headers })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  return eventsIn(response.body as ReadableStream<Uint8Array>)
}

async function next(events: AsyncGenerator<ServerEvent>): Promise<ServerEvent> {
  const { value, done } = await events.next()
  if (done === true) throw new Error('the stream ended')
  return value
}

const say = (app: Application, content: string) => app.post('/sessions/a/messages', { id: content, role: 'user', content })

test('a follower is told of every record once, in order, from now on', async () => {
  const app = await Application.open()
  await say(app, 'before')
  const events = await follow(app, '/sessions/a/events')
  expect((await next(events)).type).toBe('ready')
  await say(app, '1')
  await app.send('PATCH', '/sessions/a', { body: { title: 'T' } })
  const [first, second] = [await next(events), await next(events)]
  expect(first).toMatchObject({ type: 'messages.appended', id: expect.any(String) })
  expect(JSON.parse(first.data)).toMatchObject({ session_id: 'a', messages: [{ id: '1', message: { content: '1' } }] })
  expect(second.type).toBe('session.described')
  await events.return(undefined)
})

test('a follower that comes back goes on where it was, also if nothing had come yet', async () => {
  const app = await Application.open()
  await say(app, '0')
  const events = await follow(app, '/sessions/a/events')
  const ready = await next(events)
  await events.return(undefined)
  await say(app, '1')
  const again = await follow(app, '/sessions/a/events', ready.id)
  await next(again)
  const one = await next(again)
  expect(JSON.parse(one.data).messages[0].id).toBe('1')
  await again.return(undefined)
  await say(app, '2')
  await say(app, '3')
  const third = await follow(app, '/sessions/a/events', one.id)
  await next(third)
  expect([JSON.parse((await next(third)).data).messages[0].id, JSON.parse((await next(third)).data).messages[0].id]).toEqual(['2', '3'])
  await third.return(undefined)
})

test('what comes while a follower reads what it missed comes behind that, once', async () => {
  const app = await Application.open()
  for (let i = 0; i < 50; i++) await say(app, `old ${i}`)
  const events = await follow(app, '/sessions/a/events', '0-reset')
  const writing = (async () => {
    for (let i = 0; i < 50; i++) await say(app, `new ${i}`)
  })()
  const seen: string[] = []
  while (seen.length < 100) {
    const { type, data } = await next(events)
    if (type === 'messages.appended') seen.push(JSON.parse(data).messages[0].id)
  }
  await writing
  expect(seen).toEqual([...Array.from({ length: 50 }, (_, i) => `old ${i}`), ...Array.from({ length: 50 }, (_, i) => `new ${i}`)])
  await events.return(undefined)
})

test('many who follow the same session are all told', async () => {
  const app = await Application.open()
  await say(app, '0')
  const all = await Promise.all(Array.from({ length: 20 }, () => follow(app, '/sessions/a/events')))
  for (const events of all) await next(events)
  await say(app, '1')
  for (const events of all) expect((await next(events)).type).toBe('messages.appended')
  expect(app.parts.followers.size).toBe(20)
  for (const events of all) await events.return(undefined)
  expect(app.parts.followers.size).toBe(0)
})

test('an id that no longer fits is answered with a reset', async () => {
  const app = await Application.open()
  await say(app, '0')
  for (const id of ['nonsense', '999999-abcdef01']) {
    const events = await follow(app, '/sessions/a/events', id)
    const types = [(await next(events)).type]
    if (types[0] === 'ready') types.push((await next(events)).type)
    expect(types).toContain('reset')
    await events.return(undefined)
  }
  expect((await app.raw('GET', '/api/v1/sessions/none/events')).status).toBe(404)
})

test('a follower of all sessions is told which ones change, of its own space only, and can come back', async () => {
  const app = await Application.open()
  const other = await app.newKey({ space: 'other' })
  const events = await follow(app, '/events')
  const ready = await next(events)
  expect(ready.type).toBe('ready')
  await app.post('/sessions/theirs/messages', { role: 'user', content: 'x' }, { key: other })
  await say(app, '1')
  const changed = await nextOf(events, 'session.changed')
  expect(JSON.parse(changed.data)).toMatchObject({ session_id: 'a', message_count: 1, status: 'ok' })
  const seen = await nextOf(events, 'seen')
  await events.return(undefined)
  await app.send('DELETE', '/sessions/a')
  const again = await follow(app, '/events', seen.id)
  expect(JSON.parse((await nextOf(again, 'session.changed')).data)).toMatchObject({ session_id: 'a', status: 'deleted' })
  await again.return(undefined)
  // A cursor is good for whoever got it.
  const stolen = await app.raw('GET', '/api/v1/events', { key: other, headers: { 'last-event-id': seen.id as string } })
  const theirs = eventsIn(stolen.body as ReadableStream<Uint8Array>)
  expect((await next(theirs)).type).toBe('reset')
  await theirs.return(undefined)
})

test('what comes while a follower arrives is told too, however late the store says what was missed', async () => {
  let slow = false
  const wrap = (engine: Engine): Engine => {
    const changes = engine.changes.bind(engine)
    return Object.assign(engine, {
      changes: async (after?: string) => {
        const answer = await changes(after)
        if (slow && after === undefined) {
          slow = false
          // Somebody else hears of it before this answer is given.
          await say(app, 'between')
          await nextOf(first, 'seen')
        }
        return answer
      },
    })
  }
  const app = await Application.open({ wrap })
  const first = await follow(app, '/events')
  expect((await next(first)).type).toBe('ready')
  slow = true
  const second = await follow(app, '/events')
  expect(JSON.parse((await nextOf(second, 'session.changed')).data)).toMatchObject({ session_id: 'a', message_count: 1 })
  for (const events of [first, second]) await events.return(undefined)
})

test('whatever interrupts following, whoever follows comes back, and it goes on', async () => {
  let fails = false
  const wrap = (engine: Engine): Engine => {
    const changes = engine.changes.bind(engine)
    return Object.assign(engine, {
      changes: async (after?: string) => {
        if (!fails) return changes(after)
        fails = false
        throw new TypeError('a mistake of ours')
      },
    })
  }
  const log = pino({ level: 'error' }, { write: (line: string) => void told.push(line) })
  const told: string[] = []
  const app = await Application.open({ wrap, log })
  const events = await follow(app, '/events')
  const { id } = await next(events)
  fails = true
  await say(app, '1')
  await expect(nextOf(events, 'none of ours')).rejects.toThrow('the stream ended')
  expect(told).toMatchObject([expect.stringContaining('a mistake of ours')])
  const again = await follow(app, '/events', id)
  expect(JSON.parse((await nextOf(again, 'session.changed')).data)).toMatchObject({ session_id: 'a' })
  await say(app, '2')
  for (let count = 0; count < 2; ) count = JSON.parse((await nextOf(again, 'session.changed')).data).message_count
  await again.return(undefined)
})

async function nextOf(events: AsyncGenerator<ServerEvent>, type: string): Promise<ServerEvent> {
  for (;;) {
    const event = await next(events)
    if (event.type === type) return event
  }
}
