/** A line that is being erased while somebody carries it into another segment, because a sync failed. */
import { expect, test } from 'vitest'
import type { Engine, Journal } from '../../src/engine/port.ts'
import { HoldfastError } from '../../src/errors.ts'
import { openStore } from '../../src/store/open-store.ts'
import { useDirectory } from '../store/directory.ts'
import { tracesOf } from './traces.ts'

const directory = useDirectory()

/** The engine with some calls of its journals in other hands. */
function withJournals(change: (inner: Journal) => Partial<Journal>): (engine: Engine) => Engine {
  return (engine) => {
    const journal = engine.journal.bind(engine)
    return Object.assign(engine, {
      journal: (name: string) => {
        const inner = journal(name)
        const bound = { append: inner.append.bind(inner), roll: inner.roll.bind(inner), overwrite: inner.overwrite.bind(inner) }
        return Object.assign(inner, change({ ...inner, ...bound } as Journal))
      },
    })
  }
}

function signal(): { readonly happened: Promise<void>; readonly happens: () => void } {
  let happens = (): void => undefined
  const happened = new Promise<void>((resolve) => {
    happens = resolve
  })
  return { happened, happens }
}

test('whoever carries a line that is erased meanwhile, and dies before he looks again, leaves no copy of it', async () => {
  const [carrierRolls, eraserRolls, published] = [signal(), signal(), signal()]
  const eraser = await openStore(directory().path, {
    wrap: withJournals(({ overwrite, roll }) => ({
      // The carrier has read the line by then.
      overwrite: async (...words) => {
        await carrierRolls.happened
        return overwrite(...words)
      },
      // The line is erased wherever it stood; its carrier publishes it now.
      roll: async (...words) => {
        eraserRolls.happens()
        await published.happened
        return roll(...words)
      },
    })),
  })
  const session = eraser.session('s')
  await session.append({ id: 'm', role: 'user', content: 'Xanadu-4711' })
  await session.append({ id: 'n', role: 'user', content: 'stays' })
  let fails = true
  const carrier = await openStore(directory().path, {
    wrap: withJournals(({ append, roll }) => ({
      append: async (...words) => {
        const appended = await append(...words)
        if (!fails) return appended
        fails = false
        throw new HoldfastError('UNAVAILABLE', 'It fails.', { outcome: 'unknown', details: { reason: 'sync failed', from: 0, segment: 0 } })
      },
      roll: async (...words) => {
        carrierRolls.happens()
        await eraserRolls.happened
        await roll(...words)
        published.happens()
        await new Promise(() => undefined)
      },
    })),
  })
  const erasing = session.erase('m')
  const other = carrier.session('s')
  await expect(other.append({ id: 'x', role: 'user', content: 'unknown' })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  void other.append({ id: 'y', role: 'user', content: 'never' })
  await erasing
  expect(tracesOf(directory().path, 'Xanadu-4711')).toEqual([])
  const { messages } = await session.messages()
  expect(messages.slice(0, 2).map(({ message }) => message.content)).toEqual(['[erased]', 'stays'])
  await eraser.close()
})
