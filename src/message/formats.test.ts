import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../record/record.ts'
import { convert, FORMATS } from './formats.ts'
import { viewOf } from './message.ts'
import type { Format } from './shapes.ts'

function into(format: Format, ...messages: JsonObject[]): JsonObject[] {
  return convert(
    format,
    messages.map((message) => ({ message, view: viewOf(message) })),
  ) as object[] as JsonObject[]
}

const ASK = { role: 'user', content: 'Weather in Rome and Oslo?' }
const CALLS = {
  role: 'assistant',
  content: [
    { type: 'text', text: 'Let me see.' },
    { type: 'tool_use', id: 'a:1', name: 'weather', input: { city: 'Rome' } },
    { type: 'tool_use', id: 'b', name: 'weather', input: { city: 'Oslo' } },
  ],
}
const RESULTS = {
  role: 'user',
  content: [
    { type: 'tool_result', tool_use_id: 'a:1', content: '30' },
    { type: 'tool_result', tool_use_id: 'b', content: 'down', is_error: true },
    { type: 'text', text: 'And in Fahrenheit?' },
  ],
}
const ANSWER = { role: 'assistant', content: 'It is 86 in Rome. ' }

describe('a turn with two calls at once', () => {
  test('for OpenAI: results right behind their calls, then what the user says', () => {
    const arguments_ = (city: string) => ({ name: 'weather', arguments: `{"city":"${city}"}` })
    expect(into('openai', ASK, CALLS, RESULTS, ANSWER)).toEqual([
      ASK,
      {
        role: 'assistant',
        content: 'Let me see.',
        tool_calls: [
          { id: 'a:1', type: 'function', function: arguments_('Rome') },
          { id: 'b', type: 'function', function: arguments_('Oslo') },
        ],
      },
      { role: 'tool', tool_call_id: 'a:1', content: '30' },
      { role: 'tool', tool_call_id: 'b', content: 'down' },
      { role: 'user', content: 'And in Fahrenheit?' },
      ANSWER,
    ])
  })

  test('for Responses: items', () => {
    expect(into('openai-responses', ASK, CALLS, RESULTS)).toEqual([
      { type: 'message', role: 'user', content: 'Weather in Rome and Oslo?' },
      { type: 'message', role: 'assistant', content: 'Let me see.' },
      { type: 'function_call', call_id: 'a:1', name: 'weather', arguments: '{"city":"Rome"}' },
      { type: 'function_call', call_id: 'b', name: 'weather', arguments: '{"city":"Oslo"}' },
      { type: 'function_call_output', call_id: 'a:1', output: '30' },
      { type: 'function_call_output', call_id: 'b', output: 'down' },
      { type: 'message', role: 'user', content: 'And in Fahrenheit?' },
    ])
  })

  test('for Anthropic: ids that it takes, no space at the end', () => {
    expect(into('anthropic', ASK, CALLS, RESULTS, ANSWER)).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Weather in Rome and Oslo?' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Let me see.' },
          { type: 'tool_use', id: 'a_1', name: 'weather', input: { city: 'Rome' } },
          { type: 'tool_use', id: 'b', name: 'weather', input: { city: 'Oslo' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a_1', content: '30' },
          { type: 'tool_result', tool_use_id: 'b', content: 'down', is_error: true },
          { type: 'text', text: 'And in Fahrenheit?' },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'It is 86 in Rome.' }] },
    ])
  })

  test('for the AI SDK: results have the names of their calls', () => {
    const output = (id: string, type: string, value: string) => ({
      type: 'tool-result',
      toolCallId: id,
      toolName: 'weather',
      output: { type, value },
    })
    expect(into('ai-sdk', CALLS, RESULTS)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Let me see.' },
          { type: 'tool-call', toolCallId: 'a:1', toolName: 'weather', input: { city: 'Rome' } },
          { type: 'tool-call', toolCallId: 'b', toolName: 'weather', input: { city: 'Oslo' } },
        ],
      },
      { role: 'tool', content: [output('a:1', 'text', '30'), output('b', 'error-text', 'down')] },
      { role: 'user', content: 'And in Fahrenheit?' },
    ])
  })

  test('as text: one for each message', () => {
    expect(into('text', CALLS, RESULTS)).toEqual([
      { role: 'assistant', text: 'Let me see.\n[calls weather {"city":"Rome"}]\n[calls weather {"city":"Oslo"}]' },
      { role: 'user', text: 'And in Fahrenheit?\n[result: 30]\n[result: down]' },
    ])
  })
})

test('calls that were written down one by one become one message, as they were made', () => {
  const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })
  const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: id })
  const messages = into('openai', call('a'), call('b'), output('b'), output('a'))
  expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'tool'])
  expect(into('anthropic', ASK, call('a'), call('b'), output('b'), output('a')).map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'user',
  ])
})

test('what a UI message says behind its results stands behind them', () => {
  const ui = {
    role: 'assistant',
    parts: [
      { type: 'text', text: 'Let me see.' },
      { type: 'tool-f', toolCallId: 'c1', state: 'output-available', input: {}, output: 1 },
      { type: 'text', text: 'It is 1.' },
    ],
  }
  expect(into('openai', ui).map(({ role, content }) => [role, content])).toEqual([
    ['assistant', 'Let me see.'],
    ['tool', '1'],
    ['assistant', 'It is 1.'],
  ])
})

test('for Anthropic, a window that begins with the assistant gets a first line of the user; neighbours of one role are one', () => {
  expect(into('anthropic', ANSWER, { role: 'assistant', content: 'More?' }, { role: 'system', content: 'Be brief.' }, ASK)).toEqual([
    { role: 'user', content: [{ type: 'text', text: '[What was said before this is left out.]' }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'It is 86 in Rome.' },
        { type: 'text', text: 'More?' },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Weather in Rome and Oslo?' },
      ],
    },
  ])
})

test('an image is named, so that a message of nothing else is not lost', () => {
  const message = { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.org/a.png' } }] }
  expect(into('openai', message)).toEqual([{ role: 'user', content: '[file https://example.org/a.png]' }])
})

test.each(FORMATS.filter((format) => format !== 'text'))('%s: messages that say nothing are not sent', (format) => {
  expect(into(format, { role: 'assistant', content: ' ' }, { type: 'reasoning', summary: [] }, { role: 'assistant', content: [] })).toEqual(
    [],
  )
})
