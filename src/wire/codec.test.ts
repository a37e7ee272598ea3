import { expect, expectTypeOf, test } from 'vitest'
import {
  as,
  count,
  type Describes,
  exactly,
  flag,
  list,
  mapped,
  nullable,
  object,
  oneOf,
  optional,
  orNull,
  sent,
  text,
  type WireOf,
} from './codec.ts'

const part = object({ id: as('part_id', text), tokenCount: count }, { name: 'Part' })
const whole = object({
  session: sent(as('session_id', text)),
  status: oneOf('open', 'closed'),
  parts: list(part),
  lastPart: nullable(part),
  note: optional(text),
  limit: orNull(count),
  kind: exactly('whole'),
  isOpen: mapped(
    oneOf('yes', 'no'),
    (open: boolean) => (open ? 'yes' : 'no'),
    (word) => word === 'yes',
  ),
})

const VALUE = { status: 'open', parts: [{ id: 'a', tokenCount: 1 }], lastPart: null, kind: 'whole', isOpen: true } as const
const WIRE = {
  session_id: 's',
  status: 'open',
  parts: [{ part_id: 'a', token_count: 1 }],
  last_part: null,
  limit: null,
  kind: 'whole',
  is_open: 'yes',
} as const

test('encode writes the fields in the order of the description, under their names outside', () => {
  expect(JSON.stringify(whole.encode({ session: 's', ...VALUE }))).toBe(JSON.stringify(WIRE))
})

test('decode returns what was encoded, without fields that are only sent', () => {
  expect(whole.decode({ ...WIRE, parts: [...WIRE.parts] })).toStrictEqual(VALUE)
  const full = { ...VALUE, lastPart: { id: 'b', tokenCount: 2 }, note: 'n', limit: 3 }
  expect(whole.decode(whole.encode({ session: 's', ...full }))).toStrictEqual(full)
})

test('a field that the description lacks leaves the process in neither direction', () => {
  const secret = { id: 'a', tokenCount: 1, secret: 'x' }
  expect(part.encode(secret)).toStrictEqual({ part_id: 'a', token_count: 1 })
  expect(part.decode({ part_id: 'a', token_count: 1, secret: 'x' } as WireOf<typeof part>)).toStrictEqual({ id: 'a', tokenCount: 1 })
})

test('the types of both sides follow from the description', () => {
  expectTypeOf<WireOf<typeof part>>().toEqualTypeOf<{ readonly part_id: string; readonly token_count: number }>()
  expectTypeOf(part.decode).returns.toEqualTypeOf<{ readonly id: string; readonly tokenCount: number }>()
  const isDescribed: Describes<{ readonly id: string; readonly tokenCount: number }> = part
  // @ts-expect-error: the description lacks a field of the type
  const isNot: Describes<{ readonly id: string; readonly tokenCount: number; readonly more: boolean }> = part
  // @ts-expect-error: the type lacks a field of the description
  const norThis: Describes<{ readonly id: string }> = part
  expect([isDescribed, isNot, norThis]).toEqual([part, part, part])
})

test('the schema names every field as it is outside', () => {
  expect(whole.schema.fields.map(({ name }) => name)).toEqual([
    'session_id',
    'status',
    'parts',
    'last_part',
    'note',
    'limit',
    'kind',
    'is_open',
  ])
  expect(whole.schema.fields.filter(({ optional: may }) => may).map(({ name }) => name)).toEqual(['note'])
  expect(part.schema.name).toBe('Part')
  expect(object({ current: flag }).schema).toEqual({
    kind: 'object',
    fields: [{ name: 'current', schema: { kind: 'flag' }, optional: false }],
  })
})
