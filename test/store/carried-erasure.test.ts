import { expect, test } from 'vitest'
import type { Engine, Journal } from '../../src/engine/port.ts'
import { openMemoryEngine } from '../../src/engines/memory/engine.ts'
import { HoldfastError } from '../../src/errors.ts'
import { overwritten } from '../../src/record/erasure.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { openStore } from '../../src/store/open-store.ts'

const SECRET = 'Quagmire'

test('a carry at the very moment an erase ends brings no copy back', async () => {
  const inner = openMemoryEngine({ keysOf: sessionReducer.keysOf })
  const name = inner.name('default', 's')
  let fails = false
  let erasing: (() => Promise<void>) | undefined
  const wrapped = (journal: Journal): Journal =>
    new Proxy(journal, {
      get: (target, property) => {
        if (property === 'append')
          return async (...words: Parameters<Journal['append']>) => {
            const appended = await target.append(...words)
            if (!fails || words[3]?.sync === false) return appended
            fails = false
            throw new HoldfastError('UNAVAILABLE', 'The sync failed.', {
              outcome: 'unknown',
              details: { reason: 'sync failed', from: 0, segment: words[0] },
            })
          }
        if (property === 'roll')
          return async (...words: Parameters<Journal['roll']>) => {
            // What is to be carried was read before; it is erased in its place, and only then written again.
            await erasing?.()
            erasing = undefined
            return target.roll(...words)
          }
        const value = target[property as keyof Journal]
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  const engine: Engine = new Proxy(inner, {
    get: (target, property) => {
      if (property === 'journal') return (which: string) => (which === name ? wrapped(target.journal(which)) : target.journal(which))
      const value = target[property as keyof Engine]
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const store = await openStore(engine)
  const session = store.session('s')
  await session.append({ id: 'm', role: 'user', content: SECRET })
  const journal = inner.journal(name)
  erasing = async () => {
    for (const { at, bytes } of (await journal.read(0, 0))?.lines ?? []) {
      const line = Buffer.from(bytes)
      const place = line.indexOf(SECRET)
      if (place === -1) continue
      const clean = Buffer.from(line)
      clean.fill('x', place, place + SECRET.length)
      expect(await journal.overwrite(0, at, line, withCrc(clean))).toBe(true)
    }
  }
  fails = true
  await expect(session.append({ role: 'user', content: 'more' })).rejects.toMatchObject({ outcome: 'unknown' })
  await session.append({ role: 'user', content: 'after' })
  const segments = await journal.segments()
  expect(segments.length).toBeGreaterThan(1)
  for (const segment of segments) {
    const bytes = Buffer.concat((await journal.read(segment, segment))?.lines.map((line) => Buffer.from(line.bytes)) ?? [])
    expect(bytes.includes(SECRET)).toBe(false)
  }
  expect((await session.message('m'))?.message.content).toBe('x'.repeat(SECRET.length))
})

/** A line that was changed, with the checksum that it has then. */
function withCrc(line: Buffer): Buffer {
  return overwritten(line, []).bytes
}
