import { describe, expect, test } from 'vitest'
import { viewOf } from '../message/message.ts'
import type { JsonObject } from '../record/record.ts'
import { type Assembled, assemble, type WindowInput } from './assemble.ts'

/** Every message takes ten tokens, every other text as many as it has characters. */
const countTokens = (text: string): number => (text.startsWith('{') ? 10 : text.length)

function window(messages: readonly JsonObject[], budget: number, input: Partial<WindowInput> = {}): Assembled {
  const items = messages.map((message, index) => ({ id: `m${index}`, message, view: viewOf(message), tokens: 10 }))
  return assemble({ budget, items, summaries: [], overview: OVERVIEW, recalled: [], countTokens, ...input })
}

const ids = ({ messages }: Assembled): string[] => messages.map(({ id }) => id)
const SYSTEM = { role: 'system', content: 'Be brief.' }
const ASK = { role: 'user', content: 'hi' }
const SAY = { role: 'assistant', content: 'hello' }
const summary = (archive: number) => ({ archive, abstract: 'abstract 1' })
const OVERVIEW = 'overview of thirty characters.'

test('the newest that fit, with no holes', () => {
  const { leftOut, tokens, ...rest } = window([ASK, SAY, ASK, SAY, ASK], 35)
  expect(ids({ leftOut, tokens, ...rest })).toEqual(['m2', 'm3', 'm4'])
  expect(tokens).toBe(30)
  expect(leftOut).toEqual([
    { kind: 'message', id: 'm0', reason: 'budget' },
    { kind: 'message', id: 'm1', reason: 'budget' },
  ])
})

test('instructions at the beginning are kept if they fit; others are messages like any', () => {
  expect(ids(window([SYSTEM, ASK, SAY, SYSTEM, SAY, ASK], 30))).toEqual(['m0', 'm4', 'm5'])
  expect(ids(window([SYSTEM, ASK, SAY, ASK], 10))).toEqual(['m3'])
  expect(ids(window([ASK, SYSTEM, SAY, ASK], 20))).toEqual(['m2', 'm3'])
})

test('the newest message of the user is kept even if it alone is too much, and then nothing else is', () => {
  const { messages, overview, tokens } = window([SYSTEM, ASK, SAY, SAY], 3, { summaries: [summary(1)] })
  expect([messages.map(({ id }) => id), overview, tokens]).toEqual([['m1'], null, 10])
})

describe('a window is never instructions alone, unless the conversation is', () => {
  const call = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] }
  const answer = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'ok' }] }
  const worked = [{ type: 'telemetry' }, SYSTEM, call, answer]
  test.each([
    [[SYSTEM], 10, ['m0']],
    [[SYSTEM, call, answer], 30, ['m0', 'm1', 'm2']],
    [[SYSTEM, call, answer], 29, ['m1', 'm2']],
    [[SYSTEM, call, answer], 19, []],
    // What no provider takes stands before the instructions.
    [worked, 30, ['m1', 'm2', 'm3']],
    [worked, 19, []],
  ])('%j within %d', (messages, budget, shown) => {
    const assembled = window(messages, budget)
    expect(ids(assembled)).toEqual(shown)
    const missing = assembled.leftOut.flatMap((one) => (one.kind === 'message' && one.reason === 'budget' ? [one.id] : []))
    expect([...shown, ...missing, ...(messages === worked ? ['m0'] : [])].toSorted()).toEqual(messages.map((_, index) => `m${index}`))
  })
})

test('what the user said with results that do not fit is shown without them', () => {
  const call = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] }
  const said = { type: 'text', text: 'stop' }
  const answer = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'ok' }, said] }
  const { messages, leftOut } = window([call, answer], 15)
  expect(messages.map(({ message }) => message)).toEqual([{ role: 'user', content: [said] }])
  expect(leftOut).toEqual([
    { kind: 'message', id: 'm0', reason: 'budget' },
    { kind: 'result', id: 'm1', call: 'a', reason: 'budget' },
  ])
})

test('the last overview comes before older messages, abstracts of older archives come last', () => {
  const summaries = [summary(1), summary(2), summary(3)]
  const all = window([ASK, SAY], 70, { summaries })
  expect([all.overview, all.abstracts.map(({ archive }) => archive), all.leftOut]).toEqual([OVERVIEW, [1, 2], []])
  const some = window([ASK, SAY, ASK], 65, { summaries })
  expect([ids(some), some.abstracts, some.tokens]).toEqual([['m0', 'm1', 'm2'], [], 60])
  expect(some.leftOut).toEqual([
    { kind: 'abstract', id: '2', reason: 'budget' },
    { kind: 'abstract', id: '1', reason: 'budget' },
  ])
  expect(window([ASK, SAY, ASK], 35, { summaries }).leftOut).toContainEqual({ kind: 'overview', id: '3', reason: 'budget' })
})

test('what was recalled takes a fifth of the budget at most', () => {
  const recalled = ['1234567890', '1234567890', '1'].map((text, index) => ({ kind: 'memory', id: String(index), text }) as const)
  const { recalled: taken, leftOut } = window([ASK], 100, { recalled })
  expect(taken.map(({ id }) => id)).toEqual(['0', '1'])
  expect(leftOut).toEqual([{ kind: 'recalled', id: '2', reason: 'budget' }])
  expect(window([ASK], 15, { recalled }).recalled).toEqual([])
})

test('messages that were not even read are told by their number', () => {
  expect(window([ASK], 100, { older: 7 }).leftOut).toEqual([{ kind: 'messages', count: 7, reason: 'budget' }])
})

test('of nothing there is nothing', () => {
  expect(window([], 100)).toEqual({ overview: null, abstracts: [], recalled: [], messages: [], tokens: 0, messageTokens: 0, leftOut: [] })
})
