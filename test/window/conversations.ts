/** Conversations as agents leave them, whole and broken, in the shapes of several clients. */
import fc from 'fast-check'
import type { JsonObject } from '../../src/record/record.ts'

interface Call {
  readonly id: string
  readonly name: string
}

/** What happened, whatever shape it is written in. */
export type Event =
  | { readonly kind: 'system' | 'user' | 'assistant'; readonly text: string }
  | { readonly kind: 'calls'; readonly text: string; readonly calls: readonly Call[] }
  | { readonly kind: 'results'; readonly ids: readonly string[]; readonly text: string }
  | { readonly kind: 'unknown' }

const text = fc.constantFrom('Hello.', 'Please look at it.', '好的，请继续。', 'x'.repeat(400), 'It is done. ')

/** Calls in parallel, some of which are never answered, answered twice, late, or in several messages; results that nobody asked for. */
const step: fc.Arbitrary<(turn: number) => Event[]> = fc.oneof(
  { weight: 4, arbitrary: text.map((said) => () => [{ kind: 'user', text: said }] as Event[]) },
  { weight: 3, arbitrary: text.map((said) => () => [{ kind: 'assistant', text: said }] as Event[]) },
  {
    weight: 5,
    arbitrary: fc
      .record({
        count: fc.integer({ min: 1, max: 3 }),
        said: fc.constantFrom('', 'Let me see.'),
        fate: fc.constantFrom('answered', 'answered', 'separately', 'partly', 'never', 'twice', 'late', 'reused'),
        spoken: fc.constantFrom('', '', 'And hurry.'),
      })
      .map(({ count, said, fate, spoken }) => (turn: number): Event[] => {
        const calls = Array.from({ length: count }, (_, i) => ({
          id: fate === 'reused' ? `call_${i}` : `call_${turn}_${i}`,
          name: `tool${i}`,
        }))
        const ids = calls.map(({ id }) => id)
        const made: Event = { kind: 'calls', text: said, calls }
        const all: Event = { kind: 'results', ids, text: spoken }
        if (fate === 'never') return [made]
        if (fate === 'partly') return [made, { kind: 'results', ids: ids.slice(1), text: spoken }]
        if (fate === 'twice') return [made, all, { kind: 'results', ids: ids.slice(0, 1), text: spoken }]
        if (fate === 'separately') return [made, ...ids.toReversed().map((id) => ({ kind: 'results', ids: [id], text: '' }) as const)]
        if (fate === 'late') return [made, { kind: 'user', text: 'Still there?' }, all]
        return [made, all]
      }),
  },
  { weight: 1, arbitrary: fc.constant((turn: number): Event[] => [{ kind: 'results', ids: [`lost_${turn}`], text: '' }]) },
  { weight: 1, arbitrary: fc.constant((turn: number): Event[] => [{ kind: 'results', ids: [`lost_${turn}`], text: 'What is this?' }]) },
  { weight: 1, arbitrary: fc.constant((): Event[] => [{ kind: 'unknown' }]) },
  { weight: 1, arbitrary: fc.constant((): Event[] => [{ kind: 'system', text: 'Be brief.' }]) },
)

export const events: fc.Arbitrary<Event[]> = fc
  .tuple(fc.boolean(), fc.array(step, { minLength: 1, maxLength: 12 }))
  .map(([instructed, steps]) => [
    ...(instructed ? [{ kind: 'system', text: 'You are helpful.' } as const] : []),
    ...steps.flatMap((make, turn) => make(turn)),
  ])

const UNKNOWN: JsonObject = { type: 'telemetry', value: 1 }
const OUTPUT = 'found it'

export function asOpenAi(event: Event): JsonObject[] {
  if (event.kind === 'unknown') return [UNKNOWN]
  if (event.kind === 'results') {
    const said = event.text === '' ? [] : [{ role: 'user', content: event.text }]
    return [...event.ids.map((id) => ({ role: 'tool', tool_call_id: id, content: OUTPUT })), ...said]
  }
  if (event.kind !== 'calls') return [{ role: event.kind, content: event.text }]
  const calls = event.calls.map(({ id, name }) => ({ id, type: 'function', function: { name, arguments: '{"q":1}' } }))
  return [{ role: 'assistant', content: event.text === '' ? null : event.text, tool_calls: calls }]
}

export function asAnthropic(event: Event): JsonObject[] {
  if (event.kind === 'unknown') return [UNKNOWN]
  const said = 'text' in event && event.text !== '' ? [{ type: 'text', text: event.text }] : []
  if (event.kind === 'results') {
    const results = event.ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text: OUTPUT }] }))
    return results.length + said.length === 0 ? [] : [{ role: 'user', content: [...results, ...said] }]
  }
  if (event.kind !== 'calls') return [{ role: event.kind === 'system' ? 'user' : event.kind, content: said }]
  return [
    { role: 'assistant', content: [...said, ...event.calls.map(({ id, name }) => ({ type: 'tool_use', id, name, input: { q: 1 } }))] },
  ]
}

/** As some clients log Anthropic's answers: each block as a message of its own, reasoning first. */
export function asBlocks(event: Event): JsonObject[] {
  if (event.kind !== 'calls' && event.kind !== 'results') return asAnthropic(event)
  const whole = asAnthropic(event)[0]
  const blocks = (whole?.content ?? []) as JsonObject[]
  const thought = event.kind === 'calls' ? [{ role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: 'x' }] }] : []
  return [...thought, ...blocks.map((block) => ({ role: whole?.role ?? 'user', content: [block] }))]
}

export function asResponses(event: Event): JsonObject[] {
  if (event.kind === 'unknown') return [UNKNOWN]
  const said = (role: string, said: string): JsonObject[] => (said === '' ? [] : [{ type: 'message', role, content: said }])
  if (event.kind === 'results') {
    return [...event.ids.map((id) => ({ type: 'function_call_output', call_id: id, output: OUTPUT })), ...said('user', event.text)]
  }
  if (event.kind !== 'calls') return said(event.kind, event.text)
  const calls = event.calls.map(({ id, name }) => ({ type: 'function_call', call_id: id, name, arguments: '{"q":1}' }))
  return [...said('assistant', event.text), { type: 'reasoning', id: 'rs', summary: [], encrypted_content: 'x' }, ...calls]
}

export function asModelMessages(event: Event): JsonObject[] {
  if (event.kind === 'unknown') return [UNKNOWN]
  if (event.kind === 'results') {
    const results = event.ids.map((id) => ({
      type: 'tool-result',
      toolCallId: id,
      toolName: `tool${id.split('_').at(-1)}`,
      output: { type: 'text', value: OUTPUT },
    }))
    const said = event.text === '' ? [] : [{ role: 'user', content: event.text }]
    return [...(results.length === 0 ? [] : [{ role: 'tool', content: results }]), ...said]
  }
  if (event.kind !== 'calls') return [{ role: event.kind, content: event.text }]
  const said = event.text === '' ? [] : [{ type: 'text', text: event.text }]
  return [
    {
      role: 'assistant',
      content: [...said, ...event.calls.map(({ id, name }) => ({ type: 'tool-call', toolCallId: id, toolName: name, input: { q: 1 } }))],
    },
  ]
}

/** UI messages hold their results, so that only those of the next event can be in them. */
export function asUi(event: Event, next: Event | undefined): JsonObject[] {
  if (event.kind === 'unknown') return [UNKNOWN]
  if (event.kind === 'results') return event.text === '' ? [] : [{ role: 'user', parts: [{ type: 'text', text: event.text }] }]
  if (event.kind !== 'calls') return [{ role: event.kind, parts: [{ type: 'text', text: event.text }] }]
  const answered = next?.kind === 'results' ? next.ids : []
  const parts = event.calls.map(({ id, name }) => ({
    type: `tool-${name}`,
    toolCallId: id,
    input: { q: 1 },
    ...(answered.includes(id) ? { state: 'output-available', output: OUTPUT } : { state: 'input-available' }),
  }))
  return [{ role: 'assistant', parts: [{ type: 'step-start' }, ...parts, { type: 'text', text: 'Done.' }] }]
}
