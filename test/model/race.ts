/** Both stores write to one session at once: the order is theirs to find, but nothing may be lost, doubled or torn apart. */
import { expect } from 'vitest'
import type { JsonObject } from '../../src/record/record.ts'
import { kind } from './step.ts'

interface RaceArgs {
  readonly id: string
  readonly batches: readonly number[]
}

export const race = kind<RaceArgs>('race', async ({ id, batches }, naive, real) => {
  const model = naive.live(id)
  if (model === undefined) return
  const said = batches.map((size, batch) =>
    Array.from({ length: size }, (_, i): JsonObject => ({ role: 'user', content: `${batch}.${i}` })),
  )
  const told = await Promise.all(said.map(async (bodies, batch) => real.session(batch, id).append(bodies)))
  const { messages } = await real.session(0, id).messages({ limit: 1000 })
  const fresh = messages.slice(model.path.length)
  expect(fresh.length).toBe(batches.reduce((sum, size) => sum + size, 0))
  for (const { message, id: made } of fresh) {
    model.append({ id: made, parent: model.head, depth: (model.head?.depth ?? 0) + 1 }, message)
  }
  const order = fresh.map((one) => one.id)
  for (const { ids, duplicate } of told) {
    expect(duplicate).toBe(false)
    // A batch is one record: its messages stand together.
    expect(order.slice(order.indexOf(ids[0] as string)).slice(0, ids.length)).toEqual(ids)
  }
  model.version = await real.session(1, id).version()
  expect(told.map(({ version }) => version)).toContain(model.version)
})
