import { describe, expect, test } from 'vitest'
import { countedAt } from '../record/fold.ts'
import { hashKey, type KeyEntry, type KeyHash } from '../record/key-hash.ts'
import { LIMITS } from '../record/limits.ts'
import { encodeBody, Group } from '../record/line.ts'
import type { Operation } from '../record/operation.ts'
import type { Json } from '../record/record.ts'
import { apply } from './apply.ts'
import type { Outcome, Terms } from './command.ts'
import * as decide from './decide.ts'
import { digestOf, JsonText } from './json-text.ts'
import { keysOf } from './record-keys.ts'
import { ABSENT_VERSION, INITIAL, type SessionState } from './state.ts'
import { recordUsage } from './usage.ts'

/** A journal in its simplest form, with the keys of its records. */
class Notebook {
  state: SessionState = INITIAL
  writes = 0
  readonly #keys = new Map<KeyHash, KeyEntry>()
  #end = 0

  /** What it is answered with; a refusal as its code and reason. */
  carry<R>(operation: Operation<SessionState, R>): R | string {
    const decision = operation.decide(this.state, (key) => this.find(key))
    if ('refuse' in decision) {
      const { code, details } = decision.refuse as { code?: string; details?: { reason?: unknown } }
      return [code ?? decision.refuse.constructor.name, details?.reason].filter((word) => word !== undefined).join(' ')
    }
    if (decision.write === undefined) return decision.answer
    const number = this.writes++
    const { id = `r${number}`, at = new Date(number).toISOString(), ...write } = decision.write
    const body = encodeBody({ id, at, ...write })
    const place = new Group(this.#end, '').add(body)
    const counted = countedAt({ draft: body.draft, place, prev: '' })
    this.#end = counted.end
    this.state = apply(this.state, counted)
    for (const entry of keysOf(counted)) this.#keys.set(entry.key, entry)
    return decision.answer({ ...place, id: body.draft.id })
  }

  find(key: KeyHash): KeyEntry | undefined {
    const entry = this.#keys.get(key)
    return entry !== undefined && entry.at >= this.state.born ? entry : undefined
  }
}

const session = { space: 's', session: 'i' }
const hello = { content: 'hello' }

function created(): Notebook {
  const notebook = new Notebook()
  notebook.carry(decide.create({}, session))
  return notebook
}

function say(terms: Terms, ...contents: (string | [id: string, content: string])[]): Operation<SessionState, Outcome> {
  const messages = contents.map((one) => new JsonText(JSON.stringify({ content: typeof one === 'string' ? one : one[1] })))
  const ids = contents.map((one) => (typeof one === 'string' ? null : one[0]))
  return decide.append(terms, { messages, ids, tokens: contents.length })
}

function keyed(key: string, body: Json): Terms {
  return { key, digest: digestOf(body) }
}

describe('a condition', () => {
  test('on the version holds until a caller writes, and whoever comes later is refused and writes nothing', () => {
    const notebook = created()
    const { version } = notebook.state
    notebook.carry(recordUsage({}, { model: 'm', inputTokens: 1, outputTokens: 1 }))
    expect(notebook.carry(say({ expect: version }, 'one'))).toMatchObject({ duplicate: false })
    const { writes } = notebook
    expect(notebook.carry(say({ expect: version }, 'two'))).toBe('CONFLICT version')
    expect(notebook.carry(decide.describe({ expect: version }, { title: 't' }))).toBe('CONFLICT version')
    expect(notebook.writes).toBe(writes)
  })

  test('can be the version that any change was answered with, and usage is answered with the one there is', () => {
    const notebook = created()
    for (const operation of [
      (terms: Terms) => say(terms, 'one'),
      (terms: Terms) => recordUsage(terms, { model: 'm', inputTokens: 1, outputTokens: 1 }),
      (terms: Terms) => decide.snapshot(terms, 'x'),
      (terms: Terms) => decide.revert(terms, { snapshot: 'x' }),
      (terms: Terms) => decide.putEntries(terms, [{ channel: 'c', key: 'k' }]),
      (terms: Terms) => decide.share(terms, { share: 'x', token: 't', expiresAt: null }),
      (terms: Terms) => decide.remove(terms),
      (terms: Terms) => decide.restore(terms),
    ]) {
      const outcome = notebook.carry(operation({ expect: notebook.state.version }))
      expect(outcome).toMatchObject({ version: notebook.state.version, duplicate: false })
    }
  })

  test('can be that there is no session', () => {
    const notebook = new Notebook()
    expect(notebook.carry(decide.create({ expect: ABSENT_VERSION }, session))).toMatchObject({ duplicate: false })
    expect(notebook.carry(decide.create({ expect: ABSENT_VERSION }, session))).toBe('CONFLICT version')
  })

  test('is that places were looked up in this incarnation: in another one they mean something else', () => {
    const notebook = created()
    notebook.carry(say({}, 'one'))
    const { born, head } = notebook.state
    notebook.carry(decide.remove({}))
    notebook.carry(decide.create({}, session))
    expect(notebook.carry(decide.revert({ born }, { message: 'm' }, head))).toBe('CONFLICT created anew')
    expect(notebook.carry(decide.append({ born }, { messages: [new JsonText(JSON.stringify(hello))], tokens: 1, parent: head }))).toBe(
      'CONFLICT created anew',
    )
    expect(notebook.carry(decide.grant({ born }, { session: 'f', kind: 'fork', message: 'm' }))).toBe('CONFLICT created anew')
  })
})

describe('an operation key', () => {
  test('answers a repeated call with its first outcome, whatever happened since', () => {
    const notebook = created()
    const first = notebook.carry(say(keyed('k', 1), 'one'))
    notebook.carry(say({}, 'two'))
    expect(notebook.carry(say(keyed('k', 1), 'one'))).toMatchObject({ duplicate: true, version: (first as Outcome).version })
    expect(notebook.carry(say({ ...keyed('k', 1), expect: 'another' }, 'one'))).toMatchObject({ duplicate: true })
    notebook.carry(decide.remove({}))
    expect(notebook.carry(say(keyed('k', 1), 'one'))).toMatchObject({ duplicate: true })
  })

  test('with another body is refused', () => {
    const notebook = created()
    notebook.carry(say(keyed('k', 1), 'one'))
    expect(notebook.carry(say(keyed('k', 2), 'one'))).toBe('CONFLICT other body')
    expect(notebook.carry(decide.undo(keyed('k', 3)))).toBe('CONFLICT other body')
  })

  test('of a usage record is answered with the version of the session', () => {
    const notebook = created()
    const usage = { model: 'm', inputTokens: 1, outputTokens: 1 }
    notebook.carry(recordUsage(keyed('k', 1), usage))
    notebook.carry(say({}, 'one'))
    expect(notebook.carry(recordUsage(keyed('k', 1), usage))).toMatchObject({ duplicate: true, version: notebook.state.version })
    expect(notebook.state.usage).toEqual([{ ...usage, calls: 1 }])
  })

  test('of messages that come with what their calls took keeps that from being counted twice', () => {
    const notebook = created()
    const messages = ['one', 'two', 'three'].map((content) => new JsonText(JSON.stringify({ content })))
    const call = (index: number) => ({ index, model: 'm', inputTokens: 1, outputTokens: 2 })
    const append = () => notebook.carry(decide.append({}, { messages, ids: ['a', 'b', 'c'], tokens: 3, usage: [call(0), call(2)] }))
    expect(append()).toMatchObject({ duplicate: false })
    expect(append()).toMatchObject({ duplicate: true })
    expect(notebook.state.usage).toEqual([{ model: 'm', calls: 2, inputTokens: 2, outputTokens: 4 }])
  })

  test('of a revert to where the head is already keeps a late repetition from moving it', () => {
    const notebook = created()
    notebook.carry(decide.snapshot({}, 'x'))
    const { undo } = notebook.state
    expect(notebook.carry(decide.revert(keyed('k', 1), { snapshot: 'x' }))).toMatchObject({ duplicate: false })
    expect(notebook.state.undo).toEqual(undo)
    notebook.carry(say({}, 'one'))
    expect(notebook.carry(decide.revert(keyed('k', 1), { snapshot: 'x' }))).toMatchObject({ duplicate: true })
    expect(notebook.state.head.n).toBe(1)
  })

  test('belongs to one incarnation', () => {
    const notebook = created()
    notebook.carry(say(keyed('k', 1), 'one'))
    notebook.carry(decide.remove({}))
    notebook.carry(decide.create({}, session))
    expect(notebook.carry(say(keyed('k', 1), 'one'))).toMatchObject({ duplicate: false })
  })

  test('of a fork has to be looked up in its past first', () => {
    const past = [{ session: 'p', born: 0, end: 50, run: 2, from: 0, to: 1, first: 2, last: 2 }]
    const notebook = new Notebook()
    notebook.carry(decide.create({}, { ...session, past }))
    expect(notebook.carry(say(keyed('k', 1), 'one'))).toBe('InheritedKeysNeeded')
    expect(notebook.carry(say({}, 'one'))).toMatchObject({ duplicate: false })
    const known = new Map([
      [hashKey('operation', 'k'), { key: '', at: 2, length: 8, crc: 'aa', index: 0, digest: digestOf(1), session: 'p' }],
    ])
    const inherited = { born: notebook.state.born, known }
    expect(notebook.carry(say({ ...keyed('k', 1), inherited }, 'one'))).toMatchObject({
      duplicate: true,
      version: '10-aa',
      first: { session: 'p' },
    })
    expect(notebook.carry(say({ ...keyed('other', 1), inherited: { ...inherited, born: 7 } }, 'one'))).toBe('InheritedKeysNeeded')
  })
})

describe('message ids', () => {
  test('that are known make an append a repetition, also if another version is expected by now', () => {
    const notebook = created()
    const { version } = notebook.state
    const first = notebook.carry(say({ expect: version }, ['a', 'one'], ['b', 'two'])) as Outcome
    expect(notebook.carry(say({ expect: version }, ['a', 'one'], ['b', 'two']))).toMatchObject({ duplicate: true, version: first.version })
    expect(notebook.state.head.n).toBe(2)
  })

  test('with another body are refused', () => {
    const notebook = created()
    notebook.carry(say({}, ['a', 'one']))
    expect(notebook.carry(say({}, ['a', 'other']))).toBe('CONFLICT other body')
  })

  test('that the message repeats in a field of its own make no other body, wherever that field is', () => {
    const said = (...bodies: [id: string, body: object][]) =>
      decide.append(
        {},
        { messages: bodies.map(([, body]) => new JsonText(JSON.stringify(body))), ids: bodies.map(([id]) => id), tokens: 1 },
      )
    const bare = { role: 'user', content: 'one' }
    for (const named of [
      { id: 'a', ...bare },
      { role: 'user', id: 'a', content: 'one' },
      { ...bare, id: 'a' },
    ]) {
      for (const [first, second] of [
        [bare, named],
        [named, bare],
        [{ id: 'a', ...bare }, named],
      ] as const) {
        const notebook = created()
        notebook.carry(said(['a', first]))
        expect(notebook.carry(said(['a', second]))).toMatchObject({ duplicate: true })
        expect(notebook.state.head.n).toBe(1)
        expect(notebook.carry(said(['a', { ...second, content: 'two' }]))).toBe('CONFLICT other body')
      }
      const other = created()
      other.carry(said(['a', bare]))
      expect(other.carry(said(['a', { ...named, id: 'b' }]))).toBe('CONFLICT other body')
    }
  })

  test('of which some are known are refused: nobody can tell which outcome was the first', () => {
    const notebook = created()
    notebook.carry(say({}, ['a', 'one']))
    expect(notebook.carry(say({}, ['a', 'one'], ['b', 'two']))).toBe('CONFLICT part of the batch')
    expect(notebook.carry(say({}, ['b', 'two'], ['a', 'one']))).toBe('CONFLICT part of the batch')
    expect(notebook.carry(say({}, ['a', 'one'], 'nameless'))).toBe('CONFLICT part of the batch')
    expect(notebook.carry(say({}, ['b', 'two'], ['a', 'other']))).toBe('CONFLICT other body')
  })

  test('are told from each other, not from what they say: the same content twice is two messages', () => {
    const notebook = created()
    notebook.carry(say({}, 'yes'))
    notebook.carry(say({}, ['a', 'yes']))
    notebook.carry(say({}, ['b', 'yes']))
    expect(notebook.state.head.n).toBe(3)
  })

  test('of a deleted session are refused as late, not taken for repeated', () => {
    const notebook = created()
    notebook.carry(say({}, ['a', 'one']))
    notebook.carry(decide.remove({}))
    expect(notebook.carry(say({}, ['a', 'one']))).toBe('CONFLICT deleted')
  })
})

describe('the head', () => {
  test('moves with an append under another message, and undo returns', () => {
    const notebook = created()
    notebook.carry(say({}, 'one'))
    const one = notebook.state.head
    notebook.carry(say({}, 'two'))
    const two = notebook.state.head
    notebook.carry(decide.append({}, { messages: [new JsonText(JSON.stringify(hello))], tokens: 1, parent: one }))
    expect(notebook.state.head.n).toBe(2)
    notebook.carry(decide.undo({}))
    expect(notebook.state.head).toEqual(two)
    expect(notebook.carry(decide.undo({}))).toBe('FAILED_PRECONDITION nothing to undo')
  })

  test('goes to the snapshot or to the message of that name, as it says', () => {
    const notebook = created()
    notebook.carry(decide.snapshot({}, 'x'))
    notebook.carry(say({}, ['x', 'one']))
    const message = notebook.state.head
    notebook.carry(decide.revert({}, { snapshot: 'x' }))
    expect(notebook.state.head.n).toBe(0)
    notebook.carry(decide.revert({}, { message: 'x' }, message))
    expect(notebook.state.head).toEqual(message)
    expect(notebook.carry(decide.snapshot({}, 'x'))).toBe('CONFLICT name taken')
    expect(notebook.carry(decide.revert({}, { snapshot: 'nowhere' }))).toBe('NOT_FOUND no snapshot')
    expect(notebook.carry(decide.revert({}, { message: 'nowhere' }))).toBe('NOT_FOUND no message')
  })
})

describe('a replacement', () => {
  test('needs the content that was read to be the newest, and the one that is expected', () => {
    const notebook = created()
    notebook.carry(say({}, ['a', 'one']))
    const content = { target: 'a', message: hello, old: digestOf({ content: 'one' }) }
    expect(notebook.carry(decide.replace({}, { ...content, prior: null, expected: 'other' }))).toBe('CONFLICT other content')
    expect(notebook.carry(decide.replace({}, { ...content, prior: null }))).toMatchObject({ duplicate: false })
    expect(notebook.carry(decide.replace({}, { ...content, prior: null }))).toBe('CONFLICT replaced meanwhile')
    const prior = notebook.find(hashKey('replacement', 'a'))?.at as number
    expect(notebook.carry(decide.replace({}, { ...content, prior }))).toMatchObject({ duplicate: false })
  })

  test('repeated under its key is answered, although the content is another by now', () => {
    const notebook = created()
    notebook.carry(say({}, ['a', 'one']))
    const old = digestOf({ content: 'one' })
    const replacement = { target: 'a', message: hello, old, prior: null, expected: old }
    notebook.carry(decide.replace(keyed('k', 1), replacement))
    const prior = notebook.find(hashKey('replacement', 'a'))?.at as number
    const again = { ...replacement, old: digestOf(hello), prior }
    expect(notebook.carry(decide.replace(keyed('k', 1), again))).toMatchObject({ duplicate: true })
  })
})

describe('a description', () => {
  test('adds and removes tags, and keeps within their limit as a whole', () => {
    const notebook = created()
    notebook.carry(decide.describe({}, { tags: ['a', 'b'] }))
    notebook.carry(decide.describe({}, { addTags: ['c', 'a'], removeTags: ['b'] }))
    expect(notebook.state.tags).toEqual(['a', 'c'])
    const many = Array.from({ length: LIMITS.tags - 2 }, (_, i) => `${i}`)
    expect(notebook.carry(decide.describe({}, { addTags: many }))).toMatchObject({ duplicate: false })
    expect(notebook.carry(decide.describe({}, { addTags: ['one more'] }))).toBe('PAYLOAD_TOO_LARGE')
  })

  test('patches metadata, which stays within its limit however often it is patched', () => {
    const notebook = created()
    notebook.carry(decide.describe({}, { metadata: { a: 1, b: { c: 2 } } }))
    notebook.carry(decide.describe({}, { metadata: { a: null, b: { d: 3 } } }))
    expect(notebook.state.metadata).toEqual({ b: { d: 3 } })
    const large = 'x'.repeat(LIMITS.metadataBytes / 2)
    expect(notebook.carry(decide.describe({}, { metadata: { first: large } }))).toMatchObject({ duplicate: false })
    expect(notebook.carry(decide.describe({}, { metadata: { second: large } }))).toBe('PAYLOAD_TOO_LARGE')
    expect(notebook.carry(decide.describe({}, { metadata: { first: null, second: large } }))).toMatchObject({ duplicate: false })
    expect(notebook.carry(decide.describe({}, { policies: { first: large } }))).toMatchObject({ duplicate: false })
  })
})

describe('life and death', () => {
  test('a session is created once, deleted once, and restored while it can be', () => {
    const notebook = new Notebook()
    expect(notebook.carry(say({}, 'one'))).toBe('NOT_FOUND absent')
    expect(notebook.carry(decide.remove({}))).toBe('NOT_FOUND absent')
    expect(notebook.carry(decide.restore({}))).toBe('NOT_FOUND absent')
    notebook.carry(decide.create({}, session))
    expect(notebook.carry(decide.create({}, session))).toBe('ALREADY_EXISTS')
    expect(notebook.carry(decide.restore({}))).toBe('CONFLICT not deleted')
    notebook.carry(decide.remove({}))
    expect(notebook.carry(decide.remove({}))).toBe('NOT_FOUND deleted')
    expect(notebook.carry(decide.create({}, session, { ifAbsent: true }))).toBe('CONFLICT deleted')
    notebook.carry(decide.restore({}))
    expect(notebook.state).toMatchObject({ status: 'live', deletedAt: null })
  })

  test('one that was purged is not restored', () => {
    const notebook = created()
    notebook.carry(decide.remove({}))
    notebook.state = { ...notebook.state, purged: true }
    expect(notebook.carry(decide.restore({}))).toBe('NOT_FOUND purged')
  })

  test('one that is created anew begins in a segment of its own, and knows only who still reaches what it was', () => {
    const notebook = created()
    notebook.carry(decide.grant({}, { session: 'fork', kind: 'fork', message: null }))
    notebook.carry(decide.remove({}))
    expect(decide.create({}, session).decide(notebook.state, () => undefined)).toMatchObject({ opens: 'new incarnation' })
    notebook.carry(decide.create({}, session))
    expect(notebook.state).toMatchObject({ status: 'live', grants: [{ session: 'fork', born: 2 }], head: { n: 0 } })
  })

  test('a grant is given once to each incarnation, and released for one or for all', () => {
    const notebook = created()
    const granted = { session: 'fork', kind: 'fork' as const, message: null }
    const [first] = [notebook.state.born]
    notebook.carry(decide.grant({}, granted))
    notebook.carry(decide.grant({}, granted))
    notebook.carry(decide.remove({}))
    notebook.carry(decide.create({}, session))
    notebook.carry(decide.grant({}, granted))
    expect(notebook.state.grants.map(({ born }) => born)).toEqual([first, notebook.state.born])
    notebook.carry(decide.release('fork', notebook.state.born))
    expect(notebook.state.grants.map(({ born }) => born)).toEqual([first])
    notebook.carry(decide.release('fork'))
    expect(notebook.state.grants).toEqual([])
    const { writes } = notebook
    notebook.carry(decide.release('fork'))
    expect(notebook.writes).toBe(writes)
  })
})

test.each([
  ['snapshots', { snapshots: listOf(LIMITS.snapshots) }, decide.snapshot({}, 'new')],
  ['branches', { runs: listOf(LIMITS.branches) }, decide.append({}, { messages: [new JsonText('{}')], tokens: 1 })],
  ['channels', { channels: listOf(LIMITS.channels) }, decide.putEntries({}, [{ channel: 'new', key: 'k' }])],
  ['forks', { grants: listOf(LIMITS.forks) }, decide.grant({}, { session: 'new', kind: 'fork', message: null })],
  ['shares', { shares: listOf(LIMITS.shares) }, decide.share({}, { share: 'new', token: '', expiresAt: null })],
  ['models', { usage: listOf(LIMITS.models) }, recordUsage({}, { model: 'new', inputTokens: 1, outputTokens: 1 })],
])('a session that has all the %s that it may is told so, and stays as it is', (what, lists, operation) => {
  const live = { ...INITIAL, status: 'live' } as SessionState
  expect(operation.decide({ ...live, ...lists } as unknown as SessionState, () => undefined)).toMatchObject({
    refuse: { code: 'PAYLOAD_TOO_LARGE', message: expect.stringContaining(what) },
  })
  expect(operation.decide(live, () => undefined)).toHaveProperty('write.type')
})

function listOf(length: number): object[] {
  return Array.from({ length }, (_, i) => ({ name: `${i}`, model: `${i}`, session: `${i}` }))
}
