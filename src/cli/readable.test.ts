import { expect, test } from 'vitest'
import type { JsonObject } from '../record/record.ts'
import { readable, roleOf } from './readable.ts'

test.each<[string, JsonObject, string, string]>([
  ['a text', { role: 'user', content: 'hi\nthere' }, 'user', 'hi\nthere'],
  [
    'a call of OpenAI',
    { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{"a":1}' } }] },
    'assistant',
    '→ look({"a":1})',
  ],
  ['a result of OpenAI', { role: 'tool', name: 'look', tool_call_id: 'c', content: 'found' }, 'tool look', 'found'],
  [
    'parts of Anthropic',
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 's' },
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 't', name: 'look', input: { a: 1 } },
      ],
    },
    'assistant',
    '(hm)\nI look.\n→ look({"a":1})',
  ],
  [
    'a result of Anthropic',
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'found' }] }] },
    'user',
    '← found',
  ],
  [
    'parts with a tool and its output',
    {
      role: 'assistant',
      parts: [
        { type: 'text', text: 'a' },
        { type: 'tool', tool_name: 'look', tool_input: { a: 1 }, tool_output: 'found' },
      ],
    },
    'assistant',
    'a\n→ look({"a":1})\n← found',
  ],
  ['a part of an unknown kind', { role: 'user', content: [{ type: 'audio', id: 7 }, 'x'] }, 'user', '{"type":"audio","id":7}\nx'],
  ['an object as content', { role: 'user', content: { a: 1 } }, 'user', '{"a":1}'],
  ['a shape of its own', { type: 'event', id: 'e', what: 'x' }, 'event', '{"type":"event","what":"x"}'],
  ['nothing at all', { role: 'user' }, 'user', ''],
])('%s', (_, message, role, text) => {
  expect(roleOf(message)).toBe(role)
  expect(readable(message)).toBe(text)
})

test('an image in base64 is cut short, and says how long it is', () => {
  const text = readable({ role: 'user', content: [{ type: 'image', data: 'A'.repeat(5000) }] })
  expect(text.length).toBeLessThan(300)
  expect(text).toMatch(/^\{"type":"image","data":"A+… \(5026 characters\)$/)
})
