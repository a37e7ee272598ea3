import { expect, test } from 'vitest'
import { readPlace } from './place.ts'

test('the schema is taken from the address, and the rest is left to the driver', () => {
  const { schema, config } = readPlace({ url: 'postgres://u:p@h:1/d?schema=mine&sslmode=require' })
  expect(schema).toBe('mine')
  expect(config?.connectionString).toBe('postgres://u:p@h:1/d?sslmode=require')
  expect(readPlace({ url: 'postgresql://h/d' }).schema).toBe('holdfast')
  expect(readPlace({ url: 'postgres://h/d?schema=mine', schema: 'other' }).schema).toBe('other')
})

test('a password that is asked for each time counts, and not the one that is missing from the address', () => {
  const password = async () => 'of the hour'
  const { config } = readPlace({ url: 'postgres://h/d', password })
  const Client = config?.Client as unknown as new (config: unknown) => { readonly password: unknown }
  expect(new Client(config).password).toBe(password)
})

test('connections are bounded, and waiting for one as well', () => {
  expect(readPlace({ url: 'postgres://h/d' }).config).toMatchObject({ max: 10, connectionTimeoutMillis: 10_000, keepAlive: true })
  expect(readPlace({ url: 'postgres://h/d', connections: 3, queryTimeoutMs: 5 }).config).toMatchObject({ max: 3, query_timeout: 5 })
})
