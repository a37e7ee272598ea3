import { expect, test } from 'vitest'
import { DataKey } from '../../src/encryption/data-key.ts'
import { runs } from '../long.ts'

const NONCE_DIGITS = 16
const RECORDS = runs(200_000, 1_000_000)

test('so many records of one session have as many nonces', () => {
  const key = new DataKey('0'.repeat(32), 'journal', Buffer.alloc(32, 1))
  const draft = { id: 'r', at: '', type: 'usage.recorded', payload: {} } as const
  const nonces = new Set<string>()
  for (let i = 0; i < RECORDS; i++) nonces.add(key.encryptData(draft, {}).slice(0, NONCE_DIGITS))
  expect(nonces.size).toBe(RECORDS)
})
