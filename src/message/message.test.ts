import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../record/record.ts'
import { type MessageView, viewOf } from './message.ts'

const NOTHING: MessageView = { role: undefined, text: '', closing: '', reasoning: '', calls: [], results: [], media: [] }
const call = (id: string, name: string, input: Json) => ({ id, name, input })
const result = (id: string, output: Json, name: string | null = null, failed = false) => ({ id, name, output, failed })

const SHAPES: [what: string, message: JsonObject, view: Partial<MessageView>][] = [
  ['plain content', { role: 'user', content: 'hi' }, { role: 'user', text: 'hi' }],
  ['plain text', { role: 'human', text: 'hi' }, { role: 'user', text: 'hi' }],
  ['a developer', { role: 'developer', content: 'be brief' }, { role: 'system', text: 'be brief' }],
  ['an unknown role', { role: 'critic', content: 'hm' }, { text: 'hm' }],
  ['nothing at all', {}, {}],
  ['nonsense', { role: 5, content: { a: 1 }, parts: 'x', tool_calls: [null, 3, {}] }, {}],
  [
    'OpenAI, with an image',
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
      ],
    },
    { role: 'user', text: 'look', media: ['https://example.org/a.png'] },
  ],
  [
    'OpenAI, calls',
    { role: 'assistant', content: null, tool_calls: [{ id: 'c1', function: { name: 'f', arguments: '{"a":1}' } }] },
    { role: 'assistant', calls: [call('c1', 'f', { a: 1 })] },
  ],
  [
    'OpenAI, arguments that are no JSON',
    { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'f', arguments: '{"a":' } }] },
    { role: 'assistant', calls: [call('c1', 'f', '{"a":')] },
  ],
  ['OpenAI, a result', { role: 'tool', tool_call_id: 'c1', content: 'ok' }, { role: 'tool', results: [result('c1', 'ok')] }],
  [
    'OpenAI, a result in parts',
    {
      role: 'tool',
      tool_call_id: 'c1',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
    { role: 'tool', results: [result('c1', 'a\nb')] },
  ],
  ['OpenAI, a refusal', { role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] }, { role: 'assistant', text: 'no' }],
  [
    'Responses, a message',
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hi', annotations: [] }] },
    { role: 'assistant', text: 'hi' },
  ],
  [
    'an item of OpenAI’s agents, a call',
    { type: 'function_call', callId: 'c1', name: 'f', arguments: '{}', status: 'completed' },
    { role: 'assistant', calls: [call('c1', 'f', {})] },
  ],
  [
    'an item of OpenAI’s agents, a result',
    { type: 'function_call_result', callId: 'c1', name: 'f', status: 'completed', output: { type: 'text', text: 'ok' } },
    { role: 'tool', results: [result('c1', 'ok', 'f')] },
  ],
  [
    'LangChain, a call',
    {
      lc: 1,
      type: 'constructor',
      id: ['langchain_core', 'messages', 'AIMessage'],
      kwargs: { content: 'Let me look.', tool_calls: [{ id: 'c1', name: 'f', args: { a: 1 }, type: 'tool_call' }] },
    },
    { role: 'assistant', text: 'Let me look.', calls: [call('c1', 'f', { a: 1 })] },
  ],
  [
    'LangChain, a result',
    {
      lc: 1,
      type: 'constructor',
      id: ['langchain_core', 'messages', 'ToolMessage'],
      kwargs: { content: 'ok', tool_call_id: 'c1', name: 'f' },
    },
    { role: 'tool', results: [result('c1', 'ok', 'f')] },
  ],
  [
    'a line of Claude Code',
    { type: 'assistant', uuid: 'u', message: { role: 'assistant', content: [{ type: 'text', text: 'hi' }] } },
    { role: 'assistant', text: 'hi' },
  ],
  [
    'LangChain, a role of one’s own',
    { lc: 1, type: 'constructor', id: ['langchain_core', 'messages', 'ChatMessage'], kwargs: { content: 'hi', role: 'user' } },
    { role: 'user', text: 'hi' },
  ],
  [
    'Responses, a call',
    { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '{}' },
    { role: 'assistant', calls: [call('c1', 'f', {})] },
  ],
  ['Responses, an output', { type: 'function_call_output', call_id: 'c1', output: 'ok' }, { role: 'tool', results: [result('c1', 'ok')] }],
  [
    'Responses, an output in parts',
    { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'ok' }] },
    { role: 'tool', results: [result('c1', 'ok')] },
  ],
  [
    'Responses, reasoning',
    { type: 'reasoning', id: 'rs', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'x' },
    { role: 'assistant', reasoning: 'hm' },
  ],
  [
    'Anthropic, thinking and calls',
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'see' },
        { type: 'tool_use', id: 't1', name: 'f', input: { a: 1 } },
      ],
    },
    { role: 'assistant', reasoning: 'hm', text: 'see', calls: [call('t1', 'f', { a: 1 })] },
  ],
  [
    'Anthropic, a result, which is no message of the user',
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'ok' }], is_error: true }] },
    { role: 'tool', results: [result('t1', 'ok', null, true)] },
  ],
  [
    'Anthropic, a result and what the user says',
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 't1', content: 'ok' },
        { type: 'text', text: 'go on' },
      ],
    },
    { role: 'user', text: 'go on', closing: 'go on', results: [result('t1', 'ok')] },
  ],
  [
    'Anthropic, a tool of the server, which answers in the same message',
    {
      role: 'assistant',
      content: [
        { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'x' } },
        { type: 'web_search_tool_result', tool_use_id: 's1', content: [] },
        { type: 'text', text: 'found' },
      ],
    },
    { role: 'assistant', text: 'found', closing: 'found', calls: [call('s1', 'web_search', { query: 'x' })], results: [result('s1', [])] },
  ],
  [
    'Anthropic, an image in the message',
    { role: 'user', content: [{ type: 'image', source: { type: 'base64', data: 'x'.repeat(1000) } }] },
    { role: 'user', media: ['image of 1000 characters'] },
  ],
  [
    'AI SDK, model messages',
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: { a: 1 } }] },
    { role: 'assistant', calls: [call('c1', 'f', { a: 1 })] },
  ],
  [
    'AI SDK, a failed result',
    { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'f', output: { type: 'error-text', value: 'no' } }] },
    { role: 'tool', results: [result('c1', 'no', 'f', true)] },
  ],
  [
    'AI SDK, a result with a value of JSON',
    { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'f', output: { type: 'json', value: { n: 1 } } }] },
    { role: 'tool', results: [result('c1', { n: 1 }, 'f')] },
  ],
  [
    'AI SDK, a UI message of several steps',
    {
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'let me see' },
        { type: 'tool-weather', toolCallId: 'c1', state: 'output-available', input: { city: 'Rome' }, output: { c: 30 } },
        { type: 'dynamic-tool', toolName: 'f', toolCallId: 'c2', state: 'output-error', input: {}, errorText: 'no' },
        { type: 'tool-map', toolCallId: 'c3', state: 'input-available', input: {} },
        { type: 'step-start' },
        { type: 'text', text: 'it is hot' },
      ],
    },
    {
      role: 'assistant',
      reasoning: 'hm',
      text: 'let me see\nit is hot',
      closing: 'it is hot',
      calls: [call('c1', 'weather', { city: 'Rome' }), call('c2', 'f', {}), call('c3', 'map', {})],
      results: [result('c1', { c: 30 }, 'weather'), result('c2', 'no', 'f', true)],
    },
  ],
  [
    'AI SDK 4, which has the text twice',
    {
      role: 'assistant',
      content: 'done',
      parts: [
        { type: 'tool-invocation', toolInvocation: { state: 'result', toolCallId: 'c1', toolName: 'f', args: { a: 1 }, result: 2 } },
        { type: 'text', text: 'done' },
      ],
    },
    { role: 'assistant', text: 'done', closing: 'done', calls: [call('c1', 'f', { a: 1 })], results: [result('c1', 2, 'f')] },
  ],
  [
    "OpenViking's clients",
    {
      role: 'assistant',
      parts: [
        { type: 'text', text: 'see' },
        { type: 'context', uri: 'viking://x', abstract: 'about x' },
        { type: 'tool', tool_id: 'c1', tool_name: 'f', tool_input: { a: 1 }, tool_output: 'ok', tool_status: 'completed' },
        { type: 'tool', tool_id: 'c2', tool_name: 'f', tool_input: {}, tool_status: 'running' },
      ],
    },
    {
      role: 'assistant',
      text: 'see\nabout x',
      calls: [call('c1', 'f', { a: 1 }), call('c2', 'f', {})],
      results: [result('c1', 'ok', 'f')],
    },
  ],
  [
    'an id that comes twice in one message',
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 't1', content: 'first' },
        { type: 'tool_result', tool_use_id: 't1', content: 'second' },
      ],
    },
    { role: 'tool', results: [result('t1', 'first')] },
  ],
]

describe('a message in the shape of', () => {
  test.each(SHAPES)('%s', (_, message, view) => {
    expect(viewOf(message)).toEqual({ ...NOTHING, ...view })
  })
})

test('no object is refused, and every view is whole', () => {
  const part = fc.record(
    {
      type: fc.constantFrom(
        'text',
        'tool_use',
        'tool_result',
        'tool-call',
        'tool-result',
        'tool',
        'tool-x',
        'image',
        'thinking',
        'context',
        '',
      ),
      id: fc.jsonValue(),
      text: fc.jsonValue(),
      content: fc.jsonValue(),
      toolCallId: fc.jsonValue(),
      output: fc.jsonValue(),
      state: fc.constantFrom('output-available', 'output-error', 'input-available'),
      source: fc.jsonValue(),
    },
    { requiredKeys: [] },
  )
  const field = fc.oneof(fc.jsonValue(), fc.array(fc.oneof(part, fc.jsonValue())))
  const message = fc.dictionary(
    fc.constantFrom('role', 'type', 'content', 'parts', 'text', 'tool_calls', 'tool_call_id', 'call_id', 'output', 'summary', 'reasoning'),
    fc.oneof(field, fc.constantFrom('user', 'assistant', 'tool', 'function_call', 'function_call_output', 'reasoning')),
  )
  fc.assert(
    fc.property(message, (one) => {
      const view = viewOf(one as JsonObject)
      expect(typeof view.text + typeof view.closing + typeof view.reasoning).toBe('stringstringstring')
      expect(view.text.endsWith(view.closing)).toBe(true)
      for (const { id, name } of view.calls) expect([id === '', name === '']).toEqual([false, false])
      expect(new Set(view.results.map(({ id }) => id)).size).toBe(view.results.length)
      for (const address of view.media) expect(address.length).toBeLessThanOrEqual(300)
    }),
    { numRuns: 500 },
  )
})
