import { describe, expect, test } from 'vitest'
import { checkCallersDescription } from './check-policies.ts'
import type { Policies } from './policies.ts'

const checked = (policies: unknown): unknown => checkCallersDescription({ policies: policies as Policies }).policies

describe('a policy that Holdfast reads', () => {
  test.each([
    { auto_commit: { tokens: 1, messages: 200, idle_ms: 0, min_interval_ms: 1, keep: 20 } },
    { auto_commit: null },
    { retention: { delete_idle_after: null, drop_archives_after: 86_400 } },
    { retention: {} },
    { memory_policy: { self: { enabled: false }, peer: null, memory_types: ['facts'], working_memory: {} } },
  ])('is taken as it is: %o', (policies) => {
    expect(checked(policies)).toEqual(policies)
  })

  test.each([
    [{ auto_commit: { messages: 2, keep: 'one' } }, '`auto_commit.keep` must be a whole number from 0 to 10000; got "one".'],
    [{ auto_commit: { keep: 10_001 } }, '`auto_commit.keep` must be a whole number'],
    [{ auto_commit: { message: 2 } }, 'has no field "message". It has tokens, messages, idle_ms, min_interval_ms, keep.'],
    [{ auto_commit: { tokens: -1 } }, '`auto_commit.tokens` must be a number from 0 on'],
    [{ auto_commit: true }, 'The policy `auto_commit` must be an object with some of tokens, messages'],
    [{ retention: { deleteIdleAfter: null } }, 'has no field "deleteIdleAfter". It has delete_idle_after, drop_archives_after.'],
    [{ retention: { delete_idle_after: '90d' } }, 'must be a number of seconds from 0 on, or null'],
    [{ retention: { constructor: 1 } }, 'has no field "constructor"'],
    [{ memory_policy: { self: { enable: false } } }, '`memory_policy.self` must be { enabled: true }'],
    [{ memory_policy: { memory_types: 'events' } }, '`memory_policy.memory_types` must be a list of texts'],
  ])('is refused with a mistake in it: %o', (policies, message) => {
    expect(() => checked(policies)).toThrow(message)
  })
})

test('policies of other names belong to the caller', () => {
  const policies = { colour: 'blue', nested: { auto_commit: { keep: 'one' } } }
  expect(checked(policies)).toEqual(policies)
})
