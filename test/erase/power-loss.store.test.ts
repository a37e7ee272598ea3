import { expect, test } from 'vitest'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { everyCallFails } from '../simulation/faults.ts'
import { simulatedIds } from '../simulation/random.ts'
import { simulatedClock } from '../simulation/scheduler.ts'
import { makeWorld, type World } from '../simulation/world.ts'
import { formsOf } from './traces.ts'

const SECRET = 'Quagmire-4711 lives in Xanadu'
const FORMS = formsOf(SECRET)

async function start(world: World): Promise<Store> {
  const { process, disk } = world.start()
  const clock = simulatedClock(world.scheduler, process)
  const ids = simulatedIds(world.scheduler.random)
  const limits = { segmentBytes: 900, reserveBytes: 2000 }
  const engine = await world.settle(openFilesEngine({ directory: '/store', keysOf: sessionReducer.keysOf, disk, clock, ids, limits }))
  return world.settle(openStore(engine, { clock, ids, limits }))
}

function traces(world: World): string[] {
  return [...world.machine.snapshot()].filter(([, bytes]) => FORMS.some((form) => bytes.includes(form))).map(([path]) => path)
}

async function prepare(world: World): Promise<Store> {
  const store = await start(world)
  const session = store.session('s')
  await world.settle(
    session.append([
      { id: 'a', role: 'user', content: 'first' },
      { id: 'm', role: 'user', content: SECRET },
      { id: 'z', role: 'user', content: 'last' },
    ]),
  )
  const fork = await world.settle(session.fork({ id: 'f' }))
  await world.settle(fork.replace('m', { role: 'user', content: `${SECRET}, says the fork` }))
  for (let i = 0; i < 3; i++) await world.settle(session.append({ role: 'user', content: `${i} ${'y'.repeat(300)}` }))
  return store
}

async function checkAnew(world: World, seed: number, acknowledged: boolean): Promise<boolean> {
  const store = await start(world)
  const session = store.session('s')
  const message = await world.settle(session.message('m'))
  const isErased = message?.erased === true
  if (acknowledged) expect(isErased, `seed ${seed}`).toBe(true)
  if (!isErased) expect(message?.message.content, `seed ${seed}`).toBe(SECRET)
  const { messages } = await world.settle(session.messages())
  expect(messages.slice(0, 3).map(({ id }) => id)).toEqual(['a', 'm', 'z'])
  expect([messages[0]?.message.content, messages[2]?.message.content], `seed ${seed}`).toEqual(['first', 'last'])
  await world.settle(session.erase('m'))
  expect(traces(world), `seed ${seed}`).toEqual([])
  return isErased
}

test('whenever the power goes, it has not happened or is brought to its end, and costs no other message', async () => {
  const told = { acknowledged: 0, finished: 0, nothing: 0 }
  for (let seed = 0; seed < 40; seed++) {
    const world = makeWorld(seed)
    const store = await prepare(world)
    // Before its record stands, between that and the last byte, and at the end.
    const within = [10, 60, 400][seed % 3] as number
    const lossAt = world.scheduler.step + 1 + world.scheduler.random.int(within)
    let acknowledged = false
    const erasing = store
      .session('s')
      .erase('m')
      .then(() => {
        acknowledged = true
      })
    erasing.catch(() => undefined)
    await world.scheduler.run({ until: () => world.scheduler.step >= lossAt || acknowledged })
    world.machine.powerLoss()
    const isErased = await checkAnew(world, seed, acknowledged)
    told[acknowledged ? 'acknowledged' : isErased ? 'finished' : 'nothing']++
  }
  expect(Math.min(...Object.values(told)), JSON.stringify(told)).toBeGreaterThan(0)
})

test('on a disk that fails at any call, one that is acknowledged is done, and any other can be done again', async () => {
  let acknowledged = 0
  for (let seed = 100; seed < 130; seed++) {
    const world = makeWorld(seed)
    const store = await prepare(world)
    world.machine.faults.set({ ...everyCallFails(0.004), sync: 0, writeBack: 0, syncDirectory: 0 })
    const done = await world
      .settle(
        store
          .session('s')
          .erase('m')
          .then(
            () => true,
            () => false,
          ),
      )
      .catch(() => false)
    if (done) acknowledged++
    world.machine.heal()
    world.machine.powerLoss()
    await checkAnew(world, seed, done)
  }
  expect(acknowledged).toBeGreaterThan(3)
  expect(acknowledged).toBeLessThan(30)
})
