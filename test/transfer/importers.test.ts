/** Every format that is known, clean and damaged. */
import { describe, expect, test } from 'vitest'
import { detect, IMPORTERS } from '../../src/formats/importers.ts'
import { digest } from '../../src/formats/values.ts'
import { wrongWhenCut, wrongWhenOverwritten } from './damage.ts'
import * as fixtures from './fixtures.ts'
import { FIXTURES, itemsOf, jsonl, messagesIn, ofKind, sourceOf } from './fixtures.ts'

describe.each(FIXTURES)('$format, $name', (fixture) => {
  test('it is recognised', async () => {
    expect((await detect(sourceOf(fixture), IMPORTERS))?.name).toBe(fixture.format)
  })

  test('every message is read, in sessions that are announced first, and nothing is called damaged', async () => {
    const items = await itemsOf(sourceOf(fixture))
    const counts: Record<string, number> = {}
    const announced = new Set<string>()
    for (const item of items) {
      if (item.kind === 'session') announced.add(item.session)
      else expect(announced).toContain(item.session)
      if (item.kind === 'message') counts[item.session] = (counts[item.session] ?? 0) + 1
    }
    expect(counts).toEqual(fixture.sessions)
    expect(ofKind(items, 'damage')).toEqual([])
    expect(messagesIn(items).filter(({ recovered }) => recovered)).toEqual([])
  })

  test('reading it again gives the same items', async () => {
    expect(await itemsOf(sourceOf(fixture))).toEqual(await itemsOf(sourceOf(fixture)))
  })

  test('a text that was cut out of a line is the message as JSON, and so is its digest', async () => {
    for (const { message, text, digest: sum, pieces } of messagesIn(await itemsOf(sourceOf(fixture)))) {
      const written = pieces === undefined ? text : Buffer.concat(pieces).toString()
      if (written !== undefined) expect(written).toBe(JSON.stringify(message))
      if (sum !== undefined) expect(sum).toBe(digest(written as string))
    }
  })

  test('lines that another hand has written, with spaces, give the same messages', async () => {
    const spaced = (text: string): string => JSON.stringify(JSON.parse(text), null, 1).replaceAll(/\n */g, ' ')
    const rewritten = Object.entries(fixture.files).map(([path, text]) => {
      const isLog = /\.jsonl$/.test(path) && fixture.document !== true
      return [path, isLog ? text.replaceAll(/^\{.*$/gm, spaced) : text]
    })
    const plain = messagesIn(await itemsOf(sourceOf(fixture)))
    const other = messagesIn(await itemsOf(sourceOf({ ...fixture, files: Object.fromEntries(rewritten) })))
    expect(other.map(({ id, message, at, after }) => ({ id, message, at, after }))).toEqual(
      plain.map(({ id, message, at, after }) => ({ id, message, at, after })),
    )
  })

  test('ids of messages differ within a session', async () => {
    const ids = messagesIn(await itemsOf(sourceOf(fixture))).map(({ session, id }) => `${session} ${id}`)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

test('a log is recognised although its first line is long', async () => {
  const { codex, claudeCode } = fixtures
  const instructions = 'x'.repeat(300_000)
  const meta = { type: 'session_meta', payload: { id: 'long', base_instructions: instructions } }
  const prompt = { type: 'user', uuid: 'u', sessionId: 's', cwd: '/w', message: { role: 'user', content: instructions } }
  for (const [fixture, first] of [
    [codex, meta],
    [claudeCode, prompt],
  ] as const) {
    const files = { 'long.jsonl': jsonl(first) + Object.values(fixture.files).join('') }
    expect((await detect(sourceOf({ ...fixture, files }), IMPORTERS))?.name).toBe(fixture.format)
  }
})

describe.each(FIXTURES)('generated damage: $format, $name', (fixture) => {
  // Every one of them in test/slow.
  test('cut off, it gives what was whole before the cut, and nothing that was not there', async () => {
    expect(await wrongWhenCut(fixture, 23)).toEqual([])
  })

  test('with a byte overwritten, it costs no more than the lines that the byte touches', async () => {
    expect(await wrongWhenOverwritten(fixture, 61)).toEqual([])
  })
})

describe('OpenViking', () => {
  const { openViking } = fixtures
  const archived = openViking.files['history/archive_001/messages.jsonl'] as string

  test('an archive comes with its summary, in front of what is live', async () => {
    const items = await itemsOf(sourceOf(openViking))
    expect(messagesIn(items).map(({ id }) => id)).toEqual(['v1', 'v2', 'v3', 'v4'])
    const [archive] = ofKind(items, 'archive')
    expect(archive).toMatchObject({
      upTo: 'v2',
      outcome: { status: 'completed', overview: '# Overview\nTwo things were said.', abstract: 'Two things.' },
    })
  })

  test('live messages that an archive holds are left out, by id', async () => {
    const files = { ...openViking.files, 'messages.jsonl': archived + (openViking.files['messages.jsonl'] as string) }
    const items = await itemsOf(sourceOf({ ...openViking, files }))
    expect(messagesIn(items).map(({ id }) => id)).toEqual(['v1', 'v2', 'v3', 'v4'])
    expect(ofKind(items, 'healed')).toHaveLength(1)
  })

  test('a count that disagrees drops nothing', async () => {
    const files = { ...openViking.files, '.meta.json': JSON.stringify({ session_id: 's-1', message_count: 0, total_message_count: 2 }) }
    const items = await itemsOf(sourceOf({ ...openViking, files }))
    expect(messagesIn(items)).toHaveLength(4)
    expect(ofKind(items, 'healed')).toEqual([])
  })

  const { 'history/archive_001/.done': done = '', ...unfinished } = openViking.files
  const summary = { abstract: 'Two things.', overview: '# Overview\nTwo things were said.' }

  test('an archive with a summary and without `.done` is a task that is not finished, and its summary is kept', async () => {
    const items = await itemsOf(sourceOf({ ...openViking, files: unfinished }))
    expect(ofKind(items, 'archive')).toMatchObject([{ upTo: 'v2', outcome: { status: 'pending' } }])
    expect(ofKind(items, 'entry')).toContainEqual(expect.objectContaining({ value: summary }))
  })

  test('an archive with a summary that failed afterwards stays one that failed, and one with `.done` is completed', async () => {
    const failed = { ...unfinished, 'history/archive_001/.failed.json': '{"error":"no model"}' }
    const [archive] = ofKind(await itemsOf(sourceOf({ ...openViking, files: failed })), 'archive')
    expect(archive?.outcome).toEqual({ status: 'failed', error: { code: 'IMPORTED', message: 'no model' } })
    const repeated = { ...failed, 'history/archive_001/.done': done }
    const [finished] = ofKind(await itemsOf(sourceOf({ ...openViking, files: repeated })), 'archive')
    expect(finished?.outcome).toEqual({ status: 'completed', ...summary })
  })

  test('an archive that failed stays one that failed, with the reason', async () => {
    const files = {
      'messages.jsonl': '',
      'history/archive_001/messages.jsonl': archived,
      'history/archive_001/.failed.json': '{"error":"no model"}',
    }
    const [archive] = ofKind(await itemsOf(sourceOf({ ...openViking, files })), 'archive')
    expect(archive?.outcome).toEqual({ status: 'failed', error: { code: 'IMPORTED', message: 'no model' } })
  })
})

describe('nanobot', () => {
  const text = fixtures.nanobot.files['file.jsonl'] as string

  test('what was consolidated becomes an archive with the last summary', async () => {
    const [archive] = ofKind(await itemsOf(sourceOf(fixtures.nanobot)), 'archive')
    expect(archive?.outcome).toMatchObject({ status: 'completed', overview: 'A greeting was said.' })
    const ids = messagesIn(await itemsOf(sourceOf(fixtures.nanobot))).map(({ id }) => id)
    expect(archive?.upTo).toBe(ids[1])
  })

  test('without its first line, its name tells the key', async () => {
    const files = { 'file.jsonl': text.slice(text.indexOf('\n') + 1) }
    const [session] = ofKind(await itemsOf(sourceOf({ ...fixtures.nanobot, files }), 'nanobot'), 'session')
    expect(session?.session).toBe('telegram:42')
    const [old] = ofKind(await itemsOf(sourceOf({ name: '/a/telegram_42.jsonl', files }), 'nanobot'), 'session')
    expect(old?.session).toBe('telegram:42')
  })

  test('a file that lost its beginning has the same ids for what is left', async () => {
    const lines = text.split('\n')
    const files = { 'file.jsonl': [lines[0], ...lines.slice(4)].join('\n') }
    const whole = messagesIn(await itemsOf(sourceOf(fixtures.nanobot))).map(({ id }) => id)
    expect(messagesIn(await itemsOf(sourceOf({ ...fixtures.nanobot, files }))).map(({ id }) => id)).toEqual(whole.slice(2))
  })
})

describe('PraisonAI', () => {
  test('snapshots, the title, the flag and the archive survive', async () => {
    const items = await itemsOf(sourceOf(fixtures.praisonAi))
    const [session] = ofKind(items, 'session')
    expect(session?.description).toMatchObject({ title: 'Counting', owner: 'ann', metadata: { is_shared: true } })
    expect(ofKind(items, 'archive')[0]?.outcome).toMatchObject({ status: 'completed', overview: 'Old things were said.' })
    const second = messagesIn(items).find(({ message }) => message.content === 'two')
    expect(ofKind(items, 'snapshot')).toMatchObject([{ name: 'before three', message: second?.id }])
  })

  test('a fork has the ids of its parent for what they share', async () => {
    const parent = messagesIn(await itemsOf(sourceOf(fixtures.praisonAi))).map(({ id }) => id)
    const fork = messagesIn(await itemsOf(sourceOf(fixtures.praisonFork))).map(({ id }) => id)
    expect(fork.slice(0, 4)).toEqual(parent.slice(0, 4))
    expect(parent).not.toContain(fork[4])
  })
})

describe('Claude Code', () => {
  test('only a prompt goes back: results of parallel calls stay in the order of the file', async () => {
    const items = messagesIn(await itemsOf(sourceOf(fixtures.claudeCode)))
    expect(items.filter(({ after }) => after !== undefined)).toMatchObject([{ id: 'u10', after: 'u7' }])
  })

  test('the usage of a reply that spans several lines is told once, with the first of them', async () => {
    const replies = ofKind(await itemsOf(sourceOf(fixtures.claudeCode)), 'message').filter(({ session }) => session === 'cc-1')
    const told = replies.filter(({ usage }) => usage !== undefined)
    expect(told.map(({ message }) => message.id)).toEqual(['msg_1', 'msg_2', 'msg_3'])
    expect(replies.filter(({ message }) => message.usage !== undefined).length).toBeGreaterThan(told.length)
  })

  test('the title is the one that was chosen, else the one that was made, else the first prompt', async () => {
    const titleOf = async (...lines: object[]): Promise<unknown> =>
      ofKind(await itemsOf(sourceOf({ name: 'x.jsonl', files: { x: jsonl(...lines) } }), 'claude-code'), 'describe')[0]?.description.title
    const prompt = { type: 'user', uuid: 'a', sessionId: 's', message: { role: 'user', content: 'First words' } }
    const ai = { type: 'ai-title', aiTitle: 'Made', sessionId: 's' }
    expect(await titleOf(prompt)).toBe('First words')
    expect(await titleOf(prompt, ai)).toBe('Made')
    expect(await titleOf({ type: 'custom-title', customTitle: 'Chosen', sessionId: 's' }, prompt, ai)).toBe('Chosen')
  })
})

describe('Codex', () => {
  test('what only the events tell is taken from them', async () => {
    const lines = (fixtures.codex.files['rollout.jsonl'] as string)
      .split('\n')
      .filter((line) => line !== '' && !line.includes('"output_text"'))
    const complete = JSON.stringify({ type: 'event_msg', payload: { type: 'task_complete' } })
    const files = { 'rollout.jsonl': [...lines, complete].join('\n') }
    const items = await itemsOf(sourceOf({ ...fixtures.codex, files }))
    expect(messagesIn(items).at(-1)).toMatchObject({ recovered: true, message: { role: 'assistant', content: 'There are a and b.' } })
    expect(ofKind(items, 'healed')).toHaveLength(1)
  })
})

describe('Codex, without the ends of turns', () => {
  test('an event whose item came before it stands for no other message', async () => {
    const line = (type: string, payload: object): object => ({ timestamp: '2026-03-01T10:00:00.000Z', type, payload })
    const said = (role: string, text: string): object =>
      line('response_item', { type: 'message', role, content: [{ type: 'input_text', text }] })
    const turns = [1, 2, 3, 4].flatMap((turn) => [
      said('user', `question ${turn}`),
      line('event_msg', { type: 'user_message', message: `question ${turn}` }),
      line('event_msg', { type: 'agent_message', message: `answer ${turn}` }),
      said('assistant', `answer ${turn}`),
    ])
    const items = await itemsOf(sourceOf({ name: 'rollout-x.jsonl', files: { x: jsonl(...turns) } }), 'codex')
    expect(messagesIn(items)).toHaveLength(8)
    expect(ofKind(items, 'healed')).toEqual([])
  })

  test('the same words twice, of which one item is lost, are two messages', async () => {
    const event = (message: string): object => ({ type: 'event_msg', payload: { type: 'user_message', message } })
    const yes = { type: 'response_item', payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'yes' }] } }
    const complete = { type: 'event_msg', payload: { type: 'task_complete' } }
    const files = { x: jsonl(yes, event('yes'), complete, event('yes'), complete) }
    expect(messagesIn(await itemsOf(sourceOf({ name: 'rollout-x.jsonl', files }), 'codex'))).toHaveLength(2)
  })
})

describe('what is nested too deeply', () => {
  const deep = (brackets: string, close: string): string => `${brackets.repeat(100_000)}1${close.repeat(100_000)}`
  const nested = [deep('[', ']'), deep('{"a":', '}')]

  test.each(FIXTURES)('$format, $name: it is told with its place and its bytes, and all else is read', async (fixture) => {
    const whole = messagesIn(await itemsOf(sourceOf(fixture)))
    for (const content of nested) {
      const spoiled = sourceOf(fixture, (bytes, path) => {
        if (fixture.document === true)
          return Buffer.from(bytes.toString().replace(/("messages": ?\[)/, `$1{"role":"user","content":${content}},`))
        const line = Buffer.from(`{"role":"user","type":"user","kind":"message","message":{"role":"user","content":${content}}}\n`)
        return path.endsWith('.jsonl') ? Buffer.concat([bytes, line]) : bytes
      })
      const items = await itemsOf(spoiled, fixture.format)
      expect(messagesIn(items).map(({ id }) => id)).toEqual(whole.map(({ id }) => id))
      const told = ofKind(items, 'damage').filter(({ reason }) => reason.includes('Nested too deeply'))
      expect(told.length).toBeGreaterThan(0)
      expect(told[0]?.bytes.length).toBeGreaterThan(100_000)
    }
  })
})

describe('lines', () => {
  const good = { role: 'user', content: 'whole' }
  const read = (bytes: Buffer) =>
    itemsOf(
      sourceOf({ name: 'x.jsonl', files: { x: '' } }, () => bytes),
      'openai',
    )

  test('two records on one line are two records', async () => {
    const items = await read(Buffer.from(`${JSON.stringify(good)}${JSON.stringify({ ...good, content: 'second' })}\n`))
    expect(messagesIn(items).map(({ message }) => message.content)).toEqual(['whole', 'second'])
    expect(ofKind(items, 'damage')).toEqual([])
  })

  test('a fragment with a record behind it costs the fragment', async () => {
    const items = await read(Buffer.from(`{"role":"user","content":"tor${JSON.stringify(good)}\n`))
    expect(messagesIn(items)).toMatchObject([{ message: good, recovered: true }])
    expect(ofKind(items, 'damage')).toMatchObject([{ place: { line: 1, offset: 0, length: 29 } }])
  })

  test('bytes that are not UTF-8 cost themselves, and are told with their line', async () => {
    const bytes = Buffer.from(`${JSON.stringify(good)}\n{"role":"user","content":"b?d"}\n`)
    bytes[bytes.indexOf('?')] = 0xff
    const items = await read(bytes)
    expect(messagesIn(items).map(({ message }) => message.content)).toEqual(['whole', 'b\ufffdd'])
    expect(ofKind(items, 'damage')).toMatchObject([{ place: { line: 2 } }])
  })

  test('U+2028 and raw control characters end no line', async () => {
    const items = await read(Buffer.from('{"role":"user","content":"a\u2028b"}\n{"role":"user","content":"c\0d"}\n'))
    expect(messagesIn(items).map(({ message }) => message.content)).toEqual(['a\u2028b', 'c\0d'])
  })

  test('a page of zeros is damage, and what stands behind it is read', async () => {
    const items = await read(Buffer.concat([Buffer.alloc(4096), Buffer.from(`\n${JSON.stringify(good)}`)]))
    expect(messagesIn(items)).toMatchObject([{ message: good }])
    expect(ofKind(items, 'damage')).toMatchObject([{ place: { offset: 0, length: 4096 } }])
  })
})
