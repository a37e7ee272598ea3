import { describe, expect, test } from 'vitest'
import { viewOf } from '../message/message.ts'
import type { JsonObject } from '../record/record.ts'
import { type Dropped, NO_RESULT, unitsOf } from './units.ts'

const countTokens = (text: string): number => text.length

function group(...messages: JsonObject[]): { ids: string[][]; dropped: Dropped[]; messages: JsonObject[] } {
  const items = messages.map((message, index) => ({
    id: `m${index}`,
    message,
    view: viewOf(message),
    tokens: JSON.stringify(message).length,
  }))
  const { units, dropped } = unitsOf(items, countTokens)
  const shown = units.flatMap((unit) => unit.messages)
  for (const { message, tokens } of shown) expect(tokens).toBe(JSON.stringify(message).length)
  return { ids: units.map((unit) => unit.messages.map(({ id }) => id)), dropped, messages: shown.map(({ message }) => message) }
}

const user = (content: string) => ({ role: 'user', content })
const chat = (...ids: string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
})
const tool = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'ok' })
const use = (...ids: string[]) => ({ role: 'assistant', content: ids.map((id) => ({ type: 'tool_use', id, name: 'f', input: {} })) })
const block = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' })
const say = (text: string) => ({ type: 'text', text })
const results = (...content: JsonObject[]) => ({ role: 'user', content })

describe('calls and their results are one unit', () => {
  test('parallel calls, results in several messages', () => {
    expect(group(user('hi'), chat('a', 'b'), tool('b'), tool('a'), user('ok'))).toMatchObject({
      ids: [['m0'], ['m1', 'm2', 'm3'], ['m4']],
      dropped: [],
    })
  })

  test('a result that comes late moves to its call', () => {
    expect(group(chat('a'), user('hurry'), tool('a')).ids).toEqual([['m0', 'm2'], ['m1']])
  })

  test('what the user says beside a late result stays where it was said', () => {
    const { ids, messages } = group(use('a'), user('hurry'), results(block('a'), say('please')))
    expect(ids).toEqual([['m0', 'm2'], ['m1'], ['m2']])
    expect(messages.map(({ content }) => content)).toEqual([use('a').content, [block('a')], 'hurry', [say('please')]])
  })

  test('an id that comes again in a later turn is another call', () => {
    expect(group(chat('a'), tool('a'), user('again'), chat('a'), tool('a'))).toMatchObject({
      ids: [['m0', 'm1'], ['m2'], ['m3', 'm4']],
      dropped: [],
    })
  })

  test('Responses items: reasoning and every call that came of it', () => {
    const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })
    const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'ok' })
    const thought = { type: 'reasoning', summary: [], encrypted_content: 'x' }
    expect(group(thought, call('a'), call('b'), output('a'), output('b')).ids).toEqual([['m0', 'm1', 'm2', 'm3', 'm4']])
    expect(group(thought, thought, user('stop')).dropped).toEqual(['m0', 'm1'].map((id) => ({ kind: 'message', id, reason: 'orphan' })))
  })

  test('one message with results of two turns is divided', () => {
    const { ids, messages } = group(use('a'), user('hm'), use('b'), results(block('a'), block('b'), say('go on')))
    expect(ids).toEqual([['m0', 'm3'], ['m1'], ['m2', 'm3']])
    expect(messages[1]).toEqual(results(block('a')))
    expect(messages[4]).toEqual(results(block('b'), say('go on')))
  })
})

describe('F26: only what offends is dropped', () => {
  test('an orphan, a repeated result, a message of nobody', () => {
    expect(group(tool('x'), user('hi'), chat('a'), tool('a'), tool('a'), { type: 'telemetry' }, user('ok'))).toMatchObject({
      ids: [['m1'], ['m2', 'm3'], ['m6']],
      dropped: [
        { kind: 'message', id: 'm0', reason: 'orphan' },
        { kind: 'message', id: 'm4', reason: 'repeated' },
        { kind: 'message', id: 'm5', reason: 'no role' },
      ],
    })
  })

  test('of a message that also says something, only the result', () => {
    const { messages, dropped } = group(results(block('x'), say('hi')))
    expect(messages).toEqual([results(say('hi'))])
    expect(dropped).toEqual([{ kind: 'result', id: 'm0', call: 'x', reason: 'orphan' }])
  })

  test('of several results in a message, only that one', () => {
    const { messages, dropped } = group(use('a'), results(block('x'), block('a')))
    expect(messages).toEqual([use('a'), results(block('a'))])
    expect(dropped).toEqual([{ kind: 'result', id: 'm1', call: 'x', reason: 'orphan' }])
  })
})

describe('F25: a call without a result gets one, in its own shape, right behind it', () => {
  const part = { type: 'tool-f', toolCallId: 'a', input: {} }
  const viking = { type: 'tool', tool_id: 'a', tool_name: 'f', tool_input: {} }
  const invocation = { toolCallId: 'a', toolName: 'f', args: {} }
  test.each<[shape: string, message: JsonObject, shown: JsonObject[]]>([
    ['OpenAI', chat('a'), [chat('a'), { role: 'tool', tool_call_id: 'a', content: NO_RESULT }]],
    [
      'Anthropic',
      use('a', 'b'),
      [use('a', 'b'), results(...['a', 'b'].map((id) => ({ type: 'tool_result', tool_use_id: id, content: NO_RESULT, is_error: true })))],
    ],
    [
      'Responses',
      { type: 'custom_tool_call', call_id: 'a', name: 'f', input: 'x' },
      [
        { type: 'custom_tool_call', call_id: 'a', name: 'f', input: 'x' },
        { type: 'custom_tool_call_output', call_id: 'a', output: NO_RESULT },
      ],
    ],
    [
      'AI SDK, model messages',
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'f', input: {} }] },
      [
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'f', input: {} }] },
        {
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'f', output: { type: 'error-text', value: NO_RESULT } }],
        },
      ],
    ],
    [
      'AI SDK, UI messages',
      { role: 'assistant', parts: [{ ...part, state: 'input-available' }] },
      [{ role: 'assistant', parts: [{ ...part, state: 'output-error', errorText: NO_RESULT }] }],
    ],
    [
      'AI SDK 4',
      { role: 'assistant', content: '', parts: [{ type: 'tool-invocation', toolInvocation: { ...invocation, state: 'call' } }] },
      [
        {
          role: 'assistant',
          content: '',
          parts: [{ type: 'tool-invocation', toolInvocation: { ...invocation, state: 'result', result: NO_RESULT } }],
        },
      ],
    ],
    [
      "OpenViking's clients",
      { role: 'assistant', parts: [{ ...viking, tool_status: 'running' }] },
      [{ role: 'assistant', parts: [{ ...viking, tool_status: 'error', tool_output: NO_RESULT }] }],
    ],
  ])('%s', (_, message, shown) => {
    const original = structuredClone(message)
    expect(group(message, user('next')).messages).toEqual([...shown, user('next')])
    expect(message).toEqual(original)
  })

  test('of two calls one of which was answered, the made up result comes before what the user says', () => {
    const { messages } = group(use('a', 'b'), results(block('a'), say('go on')))
    const made = results({ type: 'tool_result', tool_use_id: 'b', content: NO_RESULT, is_error: true })
    expect(messages).toEqual([use('a', 'b'), made, results(block('a'), say('go on'))])
  })
})
