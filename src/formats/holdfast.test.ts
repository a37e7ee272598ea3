import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../record/record.ts'
import { holdfast } from './holdfast.ts'
import { type Item, itemsIn, type Source } from './item.ts'

const SESSION = { holdfast: 1, kind: 'session', session: 's', description: {} }
const AT = '2026-03-01T10:00:00.000Z'

function exported(...lines: object[]): Source {
  const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const read = async function* (): AsyncGenerator<Uint8Array> {
    yield bytes
  }
  return { name: 'x.jsonl', files: [{ path: 'x.jsonl', size: bytes.length, read }] }
}

async function itemsOf(...lines: object[]): Promise<Item[]> {
  const items: Item[] = []
  for await (const item of itemsIn(holdfast, exported(...lines))) items.push(item)
  return items
}

/** What the lines of a session are read as, up to the damage that its end is missing. */
async function readAs(...lines: object[]): Promise<JsonObject[]> {
  const items = await itemsOf(SESSION, ...lines)
  return items.slice(1, -1).map((item) => JSON.parse(JSON.stringify({ ...item, bytes: undefined, pieces: undefined, text: undefined })))
}

const TASK = '01234567-89ab-cdef-0123-456789abcdef'
const message = { role: 'user', content: 'hi' }
const archive = { kind: 'archive', key: '1', upTo: 'm' }
const memory = { id: 'i', key: 'k', category: 'c', text: 't', sources: ['m'] }
const summary = { abstract: 'a', overview: 'o', memories: [], owner: null, model: 'm', attempts: 1 }
const archived = (outcome: object) => ({ ...archive, outcome: { status: 'completed', ...summary, ...outcome } })

describe('a line of an export', () => {
  test.each<[what: string, line: object, item?: object]>([
    ['a message', { kind: 'message', id: 'm', at: AT, message }, { kind: 'message', id: 'm', at: AT, message, recovered: false }],
    ['a message after another one', { kind: 'message', id: 'm', message, after: 'l' }, { after: 'l' }],
    ['a message that is a first one', { kind: 'message', id: 'm', message, after: null }, { after: null }],
    ['a replacement', { kind: 'replacement', id: 'm', at: AT, message }],
    ['a description', { kind: 'describe', at: AT, description: { title: 't' } }],
    ['an entry', { kind: 'entry', at: AT, channel: 'c', key: 'k', value: [1] }],
    ['an entry that was removed', { kind: 'entry', channel: 'c', key: 'k' }],
    ['a snapshot', { kind: 'snapshot', at: AT, name: 'n', message: 'm' }],
    ['a snapshot before the first message', { kind: 'snapshot', name: 'n' }, { kind: 'snapshot', name: 'n', message: null }],
    ['a head that was reverted', { kind: 'head', at: AT, to: 'm', why: 'revert', target: 'n' }],
    ['a head that was undone to the beginning', { kind: 'head', why: 'undo' }, { kind: 'head', why: 'undo', to: null }],
    ['a head that says nothing else', { kind: 'head', to: 'm' }, { kind: 'head', to: 'm', why: 'revert' }],
    ['a fork', { kind: 'fork', at: AT, child: 'c', message: 'm', as: 'fork', description: { title: 't' } }],
    ['a child', { kind: 'fork', child: 'c', as: 'child' }, { kind: 'fork', child: 'c', as: 'child', message: null, description: {} }],
    ['a share', { kind: 'share', at: AT, share: 'h', digest: 'd', expiresAt: AT, redact: true }],
    ['a share without an end', { kind: 'share', share: 'h', digest: 'd', redact: 1 }, { share: 'h', digest: 'd', expiresAt: null }],
    ['an archive that waits', { ...archive, at: AT, outcome: { status: 'pending' } }],
    ['an archive that was cancelled', { ...archive, outcome: { status: 'cancelled', endedAt: AT } }],
    ['an archive that failed', { ...archive, outcome: { status: 'failed', error: { code: 'c', message: 'm' }, attempts: 3, endedAt: AT } }],
    [
      'an archive that failed and says no more',
      { ...archive, outcome: { status: 'failed', error: { code: 7 } } },
      { outcome: { status: 'failed', error: { code: '', message: '' }, attempts: 0 } },
    ],
    ['an archive that is completed', { ...archived({ owner: 'w', memories: [memory], endedAt: AT, retracted: true }), task: TASK }],
    ['an archive with usage', archived({ usage: { inputTokens: 1, outputTokens: 2 } })],
    [
      'an archive whose task has no id of a task',
      { ...archived({ memories: [{ ...memory, category: 1.5, text: 1, sources: 'm' }, { key: 'k' }, 1] }), task: 'task' },
      { outcome: { status: 'completed', ...summary, memories: [{ id: 'i', key: 'k', category: '1.5', sources: [] }] } },
    ],
  ])('is read as %s', async (_, line, item = line) => {
    const [read] = await readAs(line)
    expect(read).toMatchObject({ kind: (line as { kind: string }).kind, session: 's', ...item })
    // Nothing is there that the line does not say.
    const made = ['session', 'recovered', 'message', 'expiresAt', 'description', 'to', 'why']
    expect(Object.keys(read ?? {}).filter((field) => !(field in line) && !made.includes(field))).toEqual([])
    if (read?.task !== undefined) expect(read.task).toBe(TASK)
  })

  test.each<[line: object, fields: string]>([
    [{ message, id: 'm', at: AT, kind: 'replacement' }, 'kind session at id message'],
    [{ description: {}, at: AT, kind: 'describe' }, 'kind session at description'],
    [{ value: 1, key: 'k', channel: 'c', at: AT, kind: 'entry' }, 'kind session at channel key value'],
    [{ message: 'm', name: 'n', at: AT, kind: 'snapshot' }, 'kind session at name message'],
    [{ target: 'n', to: 'm', at: AT, kind: 'head' }, 'kind session at to why target'],
    [{ redact: true, digest: 'd', share: 'h', at: AT, kind: 'share' }, 'kind session at share digest expiresAt redact'],
  ])('has fields in one order, for an import makes its idempotency key from the item: %o', async (line, fields) => {
    expect(Object.keys((await readAs(line))[0] ?? {}).join(' ')).toBe(fields)
  })

  test('is read as usage under a key that tells equal calls apart', async () => {
    const line = { kind: 'usage', at: AT, model: 'm', inputTokens: 1, outputTokens: -2 }
    const [first, second] = await readAs(line, line)
    expect(first).toMatchObject({
      kind: 'usage',
      session: 's',
      at: AT,
      model: 'm',
      inputTokens: 1,
      outputTokens: 0,
      key: expect.any(String),
    })
    expect(second?.key).toBe(`${first?.key}.1`)
  })

  test.each<[what: string, line: object]>([
    ['a message without an id', { kind: 'message', message }],
    ['a message without content', { kind: 'message', id: 'm', message: 'hi' }],
    ['a replacement without an id', { kind: 'replacement', message }],
    ['a replacement without content', { kind: 'replacement', id: 'm' }],
    ['a description of nothing', { kind: 'describe' }],
    ['an entry without a channel', { kind: 'entry', key: 'k', value: 1 }],
    ['an entry without a key', { kind: 'entry', channel: 'c', value: 1 }],
    ['a snapshot without a name', { kind: 'snapshot', message: 'm' }],
    ['a fork of nothing', { kind: 'fork', as: 'fork' }],
    ['usage of no model', { kind: 'usage', inputTokens: 1 }],
    ['a share without an id', { kind: 'share', digest: 'd' }],
    ['a share without a digest', { kind: 'share', share: 'h' }],
    ['an archive without a key', { kind: 'archive', upTo: 'm', outcome: { status: 'pending' } }],
    ['an archive without an end', { kind: 'archive', key: '1', outcome: { status: 'pending' } }],
    ['an archive of which nothing became', { ...archive }],
    ['an archive of which something else became', { ...archive, outcome: { status: 'lost' } }],
    ['a session without an id', { ...SESSION, session: '' }],
    ['a session of a newer version', { ...SESSION, holdfast: 2 }],
  ])('is damage if it is %s', async (_, line) => {
    expect(await readAs(line)).toMatchObject([{ kind: 'damage', session: 's', reason: expect.stringContaining('no item of an export') }])
  })

  test.each(['constructor', '__proto__', 'toString', 'later'])('is damage if it is of the kind %s', async (kind) => {
    expect(await readAs({ kind, id: 'm', message })).toMatchObject([{ kind: 'damage', session: 's' }])
  })
})

describe('the line of a session', () => {
  const sessionOf = async (line: object): Promise<Item | undefined> => (await itemsOf({ ...SESSION, ...line }))[0]

  test('names its parent, if it has one', async () => {
    const parent = { session: 'p', kind: 'fork', message: 'm' }
    expect(await sessionOf({ at: AT, parent })).toMatchObject({ kind: 'session', session: 's', at: AT, description: {}, parent })
    expect(await sessionOf({ parent: { session: 'p', kind: 'child' } })).toMatchObject({ parent: { kind: 'child', message: null } })
    for (const wrong of [{ kind: 'fork' }, { session: 'p', kind: 'cousin' }, 'p'])
      expect(await sessionOf({ parent: wrong })).not.toHaveProperty('parent')
  })

  test('need not have a description, or say that it is an export', async () => {
    expect(await sessionOf({ description: null, holdfast: undefined })).toMatchObject({ session: 's', description: {} })
  })
})

describe('an export', () => {
  const end = (items: number) => ({ kind: 'end', items })
  const line = { kind: 'snapshot', name: 'n' }
  const kinds = async (...lines: object[]): Promise<string[]> => (await itemsOf(...lines)).map(({ kind }) => kind)

  test('is whole if its last line has counted all of it', async () => {
    expect(await kinds(SESSION, line, end(2))).toEqual(['session', 'snapshot'])
    expect(await kinds(SESSION, line, end(2), { ...SESSION, session: 't' }, end(1))).toEqual(['session', 'snapshot', 'session'])
  })

  test('is damaged if lines are missing, once for each session', async () => {
    expect(await kinds(SESSION, line, end(3))).toEqual(['session', 'snapshot', 'damage'])
    expect(await kinds(SESSION, line)).toEqual(['session', 'snapshot', 'damage'])
    expect(await kinds(SESSION, { ...SESSION, session: 't' })).toEqual(['session', 'damage', 'session', 'damage'])
  })

  test('whose session is missing is damage from its first line on', async () => {
    expect(await itemsOf(line)).toMatchObject([{ kind: 'damage', session: null, reason: 'Nothing says whose this is.' }])
  })

  test('is recognised by its first line, or by any other', () => {
    const recognised = (...lines: object[]): boolean => {
      const source = exported(...lines)
      return holdfast.recognises(source, new Map([['x.jsonl', lines.map((one) => JSON.stringify(one)).join('\n')]]))
    }
    expect(recognised(SESSION)).toBe(true)
    expect(recognised(line)).toBe(true)
    expect(recognised({ role: 'user', content: 'hi' })).toBe(false)
  })
})
