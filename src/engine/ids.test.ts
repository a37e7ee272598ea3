import fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemIds, uuid7 } from './ids.ts'

const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('an id is the UUID of RFC 9562, appendix A.6', () => {
  // 2022-02-22 14:22:22 -05:00, rand_a 0xcc3, rand_b 0x18c4dc0c0c07398f.
  const random = Uint8Array.of(0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f)
  expect(uuid7(0x017f22e279b0, random)).toBe('017f22e2-79b0-7cc3-98c4-dc0c0c07398f')
})

const milliseconds = fc.integer({ min: 0, max: 2 ** 48 - 1 })
const bytes = fc.uint8Array({ minLength: 10, maxLength: 10 })

test('ids sort by time, whatever is random in them', () => {
  fc.assert(
    fc.property(milliseconds, milliseconds, bytes, bytes, (a, b, x, y) => {
      const [one, other] = [uuid7(a, x), uuid7(b, y)]
      expect(one).toMatch(UUID7)
      if (a < b) expect(one < other).toBe(true)
      if (a > b) expect(one > other).toBe(true)
    }),
  )
})

test('74 bits of an id are random, and each of them matters', () => {
  const zero = uuid7(0, new Uint8Array(10))
  const changes = Array.from({ length: 80 }, (_, bit) => {
    const random = new Uint8Array(10)
    random[bit >>> 3] = 1 << (bit & 7)
    return uuid7(0, random)
  })
  expect(new Set(changes.filter((id) => id !== zero)).size).toBe(74)
})

test('what is handed in is not changed', () => {
  const random = Uint8Array.from({ length: 10 }, () => 0xff)
  uuid7(1, random)
  expect(random).toEqual(Uint8Array.from({ length: 10 }, () => 0xff))
})

test('the ids of the system are of that form, of the time given, and never the same', () => {
  const ids = Array.from({ length: 1_000 }, () => systemIds.next(1_750_000_000_000))
  expect(new Set(ids).size).toBe(1_000)
  for (const id of ids) {
    expect(id).toMatch(UUID7)
    expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(1_750_000_000_000)
  }
})

test('hex digits are as many as were asked for', () => {
  for (const digits of [0, 1, 2, 7, 16, 33]) expect(systemIds.hex(digits)).toMatch(new RegExp(`^[0-9a-f]{${digits}}$`))
  expect(systemIds.hex(16)).not.toBe(systemIds.hex(16))
})

test('jitter is between nothing and all of it', () => {
  const draws = Array.from({ length: 1_000 }, () => systemIds.random())
  expect(draws.every((draw) => draw >= 0 && draw < 1)).toBe(true)
  expect(Math.max(...draws) - Math.min(...draws)).toBeGreaterThan(0.5)
})
