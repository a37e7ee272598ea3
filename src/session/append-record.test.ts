import { describe, expect, test } from 'vitest'
import { hashKey } from '../record/key-hash.ts'
import { LIMITS } from '../record/limits.ts'
import type { Decision } from '../record/operation.ts'
import type { NewMessages } from './append-record.ts'
import type { Outcome, Terms } from './command.ts'
import { append } from './decide.ts'
import { digestOf, JsonText } from './json-text.ts'
import { INITIAL, type SessionState } from './state.ts'

const empty: SessionState = { ...INITIAL, status: 'live' }
/** Two messages in one record at 100, whose head is the second one. */
const begun: SessionState = {
  ...empty,
  runs: [{ at: 100, n: 0, t: 0, parent: null }],
  tip: [100, 1],
  head: { at: [100, 1], n: 2, t: 2 },
  channels: [{ name: 'old', last: 90, count: 1 }],
}

const messages = ['one', 'two'].map((content) => new JsonText(JSON.stringify({ content })))
const bytes = Buffer.from(messages.map(({ text }) => text).join(','))
const call = { index: 1, model: 'm', inputTokens: 1, outputTokens: 2 }
const entries = [
  { channel: 'old', key: 'k', value: 1 },
  { channel: 'new', key: 'k', value: 2 },
]
const parent = { at: [100, 0] as const, n: 1, t: 1 }
const underKey: Terms = { key: 'k', digest: digestOf(1) }

function decided(state: SessionState, batch: Partial<NewMessages>, terms: Terms = {}): Decision<Outcome> {
  return append(terms, { messages, tokens: 2, ...batch }).decide(state, () => undefined)
}

describe('the record of an append', () => {
  const always = ['messages', 'n', 't', 'tokens']

  test.each<[what: string, state: SessionState, batch: Partial<NewMessages>, terms: Terms, fields: string[]]>([
    ['of messages that begin a run', empty, {}, {}, always],
    ['of one message', empty, { messages: messages.slice(0, 1) }, {}, always],
    ['of messages that continue a run', begun, {}, {}, [...always, 'run']],
    ['of messages as bytes', begun, { bytes }, {}, [...always, 'run']],
    ['of messages some of which have an id', empty, { ids: [null, 'b'] }, {}, [...always, 'ids']],
    ['of messages none of which has an id', empty, { ids: [null, null] }, {}, always],
    ['of messages with times', empty, { times: [null, '2026-01-01T00:00:00.000Z'] }, {}, [...always, 'times']],
    ['of messages with usage', empty, { usage: [call] }, {}, [...always, 'usage']],
    ['of messages that leave the head', begun, { parent }, {}, [...always, 'left']],
    ['of messages with entries', empty, { entries }, {}, [...always, 'entries', 'before']],
    ['of messages under a key', empty, {}, underKey, [...always, 'key', 'digest']],
    [
      'of everything at once',
      begun,
      { bytes, ids: ['a', 'b'], times: [null, null], usage: [call], parent, entries },
      underKey,
      [...always, 'ids', 'times', 'usage', 'left', 'entries', 'before', 'key', 'digest'],
    ],
  ])('%s has the text of its payload', (_, state, batch, terms, fields) => {
    const { write } = decided(state, batch, terms)
    const { payload = {}, text = '' } = write ?? {}
    expect(Object.keys(payload)).toEqual(fields)
    const whole = typeof text === 'object' ? `${text[0]}${Buffer.from(text[1]).toString()}${text[2]}` : text
    expect(whole).toBe(JSON.stringify(payload))
  })

  test('has everything that the caller sent', () => {
    const sent = { ids: ['a', null], times: [null, '2026-01-01T00:00:00.000Z'], usage: [call], entries }
    const { write } = decided(empty, sent, { ...underKey, at: '2026-01-02T00:00:00.000Z' })
    expect(write).toMatchObject({ type: 'messages.appended', at: '2026-01-02T00:00:00.000Z' })
    expect(JSON.parse(write?.text as string)).toMatchObject({
      messages: [{ content: 'one' }, { content: 'two' }],
      tokens: 2,
      ...sent,
      ...underKey,
    })
  })

  test('says which message it follows, with the depth and the tokens up to it', () => {
    expect(decided(empty, {})).toMatchObject({ write: { parent: undefined, payload: { n: 0, t: 0 } } })
    expect(decided(begun, {})).toMatchObject({ write: { parent: [100, 1], payload: { n: 2, t: 2, run: begun.runs[0] } } })
    expect(decided(begun, { parent })).toMatchObject({ write: { parent: [100, 0], payload: { n: 1, t: 1, left: begun.head } } })
  })

  test('links each channel of its entries to the entries before', () => {
    const before = [
      ['old', 90],
      ['new', null],
    ]
    expect(decided(begun, { entries })).toMatchObject({ write: { payload: { entries, before } } })
  })

  test('carries the hashes of its message ids only if every message has one', () => {
    expect(decided(empty, { ids: ['a', 'b'] })).toMatchObject({ write: { hashes: [hashKey('message', 'a'), hashKey('message', 'b')] } })
    expect(decided(empty, { ids: ['a', null] })).toMatchObject({ write: { hashes: undefined } })
  })
})

test('an append is refused by its guard first, then by each limit', () => {
  const listOf = (length: number): never => Array.from({ length }, (_, i) => ({ name: `${i}`, model: `${i}` })) as never
  const full: SessionState = { ...empty, runs: listOf(LIMITS.branches), usage: listOf(LIMITS.models), channels: listOf(LIMITS.channels) }
  const refusalOf = (state: SessionState, guard?: NewMessages['guard']): string => {
    const decision = decided(state, { usage: [call], entries, guard })
    return 'refuse' in decision ? decision.refuse.message : 'written'
  }
  expect(refusalOf(full, () => new Error('changed') as never)).toBe('changed')
  expect(refusalOf(full)).toContain('branches')
  expect(refusalOf({ ...full, runs: [] })).toContain('models')
  expect(refusalOf({ ...full, runs: [], usage: [] })).toContain('channels')
  expect(refusalOf(empty, () => undefined)).toBe('written')
})
