import { expect, test } from 'vitest'
import { viewOf } from '../message/message.ts'
import type { JsonObject } from '../record/record.ts'
import { lastTurn } from './turns.ts'

const ASK = { role: 'user', content: 'hi' }
const SAY = { role: 'assistant', content: 'hello' }
const CALL = { role: 'assistant', content: null, tool_calls: [{ id: 'c1', function: { name: 'f', arguments: '{}' } }] }
const RESULT = { role: 'tool', tool_call_id: 'c1', content: 'ok' }
const ui = (...parts: JsonObject[]): JsonObject => ({ role: 'assistant', parts })
const PART = { type: 'tool-f', toolCallId: 'c1', input: {} }
const DONE = { ...PART, state: 'output-available', output: 1 }
const anthropicResult = { type: 'tool_result', tool_use_id: 'c1', content: 'ok' }

test.each<[status: string, from: number, open: string[], messages: JsonObject[]]>([
  ['empty', 0, [], []],
  ['unanswered', 0, [], [ASK]],
  ['unanswered', 2, [], [ASK, SAY, ASK]],
  ['unanswered', 0, [], [ASK, { role: 'system', content: 'Be brief.' }]],
  ['complete', 0, [], [ASK, SAY]],
  ['complete', 0, [], [ASK, CALL, RESULT, SAY]],
  ['complete', 0, [], [SAY]],
  ['interrupted', 0, ['c1'], [ASK, CALL]],
  ['interrupted', 0, ['c1'], [ASK, CALL, SAY]],
  ['interrupted', 0, [], [ASK, CALL, RESULT]],
  ['interrupted', 0, ['c1'], [ASK, CALL, RESULT, CALL]],
  ['interrupted', 0, [], [ASK, { type: 'reasoning', summary: [{ text: 'hm' }] }]],
  ['interrupted', 0, ['c1'], [ASK, ui({ ...PART, state: 'input-available' })]],
  ['interrupted', 0, [], [ASK, ui({ type: 'text', text: 'Let me see.' }, DONE)]],
  ['complete', 0, [], [ASK, ui(DONE, { type: 'text', text: 'It is 1.' })]],
  ['interrupted', 0, [], [ASK, CALL, { role: 'user', content: [anthropicResult] }]],
  ['unanswered', 2, [], [ASK, CALL, { role: 'user', content: [anthropicResult, { type: 'text', text: 'Stop.' }] }]],
])('%s, from message %d, waiting for %j', (status, from, open, messages) => {
  const turn = lastTurn(messages.map((message, index) => ({ id: String(index), view: viewOf(message) })))
  expect(turn.status).toBe(status)
  expect(turn.messages).toEqual(messages.map((_, index) => String(index)).slice(from))
  expect(turn.openCalls.map(({ id }) => id)).toEqual(open)
})

test('a conversation of instructions alone is empty', () => {
  expect(lastTurn([{ id: 'a', view: viewOf({ role: 'system', content: 'Be brief.' }) }]).status).toBe('empty')
})
