import { expect, test } from 'vitest'
import { systemClock } from '../../engine/clock.ts'
import { systemIds } from '../../engine/ids.ts'
import type { Engine, Journal } from '../../engine/port.ts'
import { openMemoryEngine } from '../../engines/memory/engine.ts'
import { HoldfastError } from '../../errors.ts'
import { LIMITS } from '../../record/limits.ts'
import type { JsonObject } from '../../record/record.ts'
import { sessionReducer } from '../../session/reducer.ts'
import { openStore } from '../open-store.ts'
import type { Session } from '../session.ts'
import { Chain } from './chain.ts'

const { keysOf } = sessionReducer

async function open(engine: Engine = openMemoryEngine({ keysOf })): Promise<Session<JsonObject>> {
  const store = await openStore(engine, { clock: systemClock, ids: systemIds })
  const session = store.session<JsonObject>('s')
  await session.append({ id: 'm0', content: 'begun' })
  return session
}

async function idsOf(session: Session<JsonObject>): Promise<string[]> {
  return (await session.messages()).messages.map(({ id }) => id)
}

test('behind a message that is refused none is appended, although all were under way at once', async () => {
  const session = await open()
  const chain = new Chain()
  const send = (id: string, content: string) => session.append({ id, content }, { chain })
  const outcomes = await Promise.allSettled([send('m1', 'a'), send('m0', 'not what it was'), send('m2', 'b'), send('m3', 'c')])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected'])
  expect(await idsOf(session)).toEqual(['m0', 'm1'])
  await expect(send('m4', 'd')).rejects.toMatchObject({ code: 'CONFLICT' })
})

test('a message that cannot be written at all breaks the chain as well', async () => {
  const session = await open()
  const chain = new Chain()
  // Three bytes each: only the encoded line is too long.
  const tooLong = session.append({ id: 'm1', content: '字'.repeat(Math.ceil(LIMITS.recordBytes / 3)) }, { chain })
  const next = session.append({ id: 'm2', content: 'short' }, { chain })
  await expect(tooLong).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
  await expect(next).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
  expect(await idsOf(session)).toEqual(['m0'])
})

test('a long message that a full disk refuses is not overtaken by a short one that would fit', async () => {
  let full = false
  const session = await open(refusingLong(() => full))
  full = true
  const send = (options: { chain?: Chain }) => [
    session.append({ id: 'm1', content: 'x'.repeat(LIMITS.groupTargetBytes + 1) }, options),
    session.append({ id: 'm2', content: 'short' }, options),
    session.append({ id: 'm3', content: 'short' }, options),
  ]
  const chained = await Promise.allSettled(send({ chain: new Chain() }))
  expect(chained).toMatchObject(Array(3).fill({ status: 'rejected', reason: { code: 'NO_SPACE' } }))
  expect(await idsOf(session)).toEqual(['m0'])
  // Without a chain it does overtake: each caller for itself.
  const [first, , third] = await Promise.allSettled(send({}))
  expect([first, third]).toMatchObject([{ status: 'rejected' }, { status: 'fulfilled' }])
  expect(await idsOf(session)).toEqual(['m0', 'm3'])
})

/** An engine whose disk has room for short groups only, while `isFull`. */
function refusingLong(isFull: () => boolean): Engine {
  const engine = openMemoryEngine({ keysOf })
  const journal = (name: string): Journal => {
    const inner = engine.journal(name)
    return new Proxy(inner, {
      get: (target, property) => {
        if (property !== 'append') return bound(target, property)
        return async (...words: Parameters<Journal['append']>) =>
          isFull() && words[2].length > 100_000
            ? { moved: false, placed: 0, refusal: new HoldfastError('NO_SPACE', 'The disk is full.') }
            : target.append(...words)
      },
    })
  }
  return new Proxy(engine, { get: (target, property) => (property === 'journal' ? journal : bound(target, property)) })
}

function bound(target: object, property: string | symbol): unknown {
  const value = Reflect.get(target, property, target)
  return typeof value === 'function' ? value.bind(target) : value
}
