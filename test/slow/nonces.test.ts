import { expect, test } from 'vitest'
import { SessionKey } from '../../src/encryption/session-key.ts'

const NONCE_DIGITS = 16

test('a million records of one session have a million nonces', () => {
  const key = new SessionKey('0'.repeat(32), 'journal', Buffer.alloc(32, 1))
  const draft = { id: 'r', at: '', type: 'usage.recorded', payload: {} } as const
  const nonces = new Set<string>()
  for (let i = 0; i < 1_000_000; i++) nonces.add(key.sealData(draft, {}).slice(0, NONCE_DIGITS))
  expect(nonces.size).toBe(1_000_000)
})
