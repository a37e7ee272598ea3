/** Small stores of other programs, as their writers leave them. */
import { basename } from 'node:path'
import { detect, IMPORTERS } from '../../src/formats/importers.ts'
import { type Item, itemsIn, type Source } from '../../src/formats/item.ts'
import { tarOf } from '../../src/formats/tar.ts'

export interface Fixture {
  readonly format: string
  readonly name: string
  readonly files: Readonly<Record<string, string>>
  /** Ids of its sessions, with how many messages each has. */
  readonly sessions: Readonly<Record<string, number>>
  /** One document: what its fields are called decides what is found. */
  readonly document?: boolean
}

export function jsonl(...lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

function viking(id: string, role: string, text: string, minute: number): object {
  return { id, role, parts: [{ type: 'text', text }], created_at: `2026-03-01T10:0${minute}:00.000Z` }
}

const vikingCall = {
  id: 'v4',
  role: 'assistant',
  parts: [{ type: 'tool', tool_id: 'c1', tool_name: 'find', tool_input: { q: 'x' }, tool_output: 'found', tool_status: 'completed' }],
  created_at: '2026-03-01T10:04:00.000Z',
}

export const openViking: Fixture = {
  format: 'openviking',
  name: '/home/a/viking/session/s-1',
  files: {
    '.meta.json': JSON.stringify({ session_id: 's-1', created_at: '2026-03-01T10:00:00Z', message_count: 2, commit_count: 1 }),
    'messages.jsonl': jsonl(viking('v3', 'user', 'And the third?', 3), vikingCall),
    'history/archive_001/messages.jsonl': jsonl(viking('v1', 'user', 'First.', 1), viking('v2', 'assistant', 'Second.', 2)),
    'history/archive_001/.overview.md': '# Overview\nTwo things were said.\n',
    'history/archive_001/.abstract.md': 'Two things.',
    'history/archive_001/memory_diff.json': JSON.stringify({ added: ['likes order'] }),
    'history/archive_001/.done': JSON.stringify({ coverage_start_archive: 1, coverage_end_archive: 1 }),
  },
  sessions: { 's-1': 4 },
}

export const nanobot: Fixture = {
  format: 'nanobot',
  name: `/home/a/sessions/${Buffer.from('telegram:42').toString('base64url')}.jsonl`,
  files: {
    'file.jsonl': jsonl(
      {
        _type: 'metadata',
        key: 'telegram:42',
        created_at: '2026-03-01T10:00:00',
        updated_at: '2026-03-01T11:00:00',
        metadata: { title: 'Parcel', _last_summary: { text: 'A greeting was said.', last_active: '2026-03-01T10:30:00' } },
        last_consolidated: 2,
      },
      { _type: 'provider_state', state: 'opaque' },
      { role: 'user', content: 'hi', timestamp: '2026-03-01T10:01:00.123456' },
      { role: 'assistant', content: 'hello', timestamp: '2026-03-01T10:01:02.000001', reasoning_content: 'A greeting.' },
      { role: 'user', content: 'yes', timestamp: '2026-03-01T10:02:00' },
      {
        role: 'assistant',
        content: null,
        timestamp: '2026-03-01T10:02:01',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":"it"}' } }],
      },
      { role: 'tool', content: 'seen', timestamp: '2026-03-01T10:02:02', tool_call_id: 'c1', name: 'look' },
      { role: 'user', content: 'yes', timestamp: '2026-03-01T10:03:00' },
    ),
  },
  sessions: { 'telegram:42': 6 },
}

function praison(role: string, content: string, timestamp: number, metadata: object | null = {}): object {
  return { role, content, timestamp, metadata }
}

const shared = [praison('user', 'one', 1772359201.5), praison('assistant', 'two', 1772359202.5), praison('user', 'three', 1772359203.5)]

export const praisonAi: Fixture = {
  format: 'praisonai',
  name: '/home/a/.praison/sessions/p-1.json',
  document: true,
  files: {
    'p-1.json': JSON.stringify(
      {
        session_id: 'p-1',
        messages: [praison('system', 'Summed up.', 1772359300, { compaction: true, compacted_count: 2 }), ...shared],
        archived_messages: [praison('user', 'long ago', 1772359001), praison('assistant', 'so it was', 1772359002)],
        created_at: 1772359000,
        updated_at: '2026-03-01T10:10:00',
        agent_name: 'helper',
        user_id: 'ann',
        metadata: null,
        last_compaction: { summary: 'Old things were said.', message_index: 2, timestamp: 1772359300 },
        children_ids: ['p-2'],
        snapshots: [{ id: 'sn1', session_id: 'p-1', message_index: 2, created_at: 1772359204, label: 'before three' }],
        is_shared: true,
        title: 'Counting',
      },
      null,
      1,
    ),
  },
  sessions: { 'p-1': 5 },
}

export const praisonFork: Fixture = {
  format: 'praisonai',
  name: '/home/a/.praison/sessions/p-2.json',
  document: true,
  files: {
    'p-2.json': JSON.stringify({
      session_id: 'p-2',
      messages: [
        praison('user', 'long ago', 1772359001),
        praison('assistant', 'so it was', 1772359002),
        ...shared.slice(0, 2),
        praison('user', 'otherwise', 1772359400),
      ],
      parent_id: 'p-1',
      forked_from_message_id: '1',
      created_at: '2026-03-01T11:00:00',
    }),
  },
  sessions: { 'p-2': 5 },
}

function claude(type: string, uuid: string, parentUuid: string | null, message: object, more: object = {}): object {
  const common = {
    sessionId: 'cc-1',
    cwd: '/home/a/project',
    gitBranch: 'main',
    version: '2.0.1',
    userType: 'external',
    isSidechain: false,
  }
  return { ...common, type, uuid, parentUuid, timestamp: `2026-03-01T10:00:${uuid.slice(1).padStart(2, '0')}.000Z`, message, ...more }
}

function said(text: string): object {
  return { role: 'user', content: text }
}

function reply(content: object[], id = 'msg_1'): object {
  return { role: 'assistant', id, model: 'claude-x', content, stop_reason: 'end_turn', usage: { input_tokens: 10, output_tokens: 5 } }
}

export const claudeCode: Fixture = {
  format: 'claude-code',
  name: '/home/a/.claude/projects/-home-a-project/cc-1.jsonl',
  files: {
    'cc-1.jsonl': jsonl(
      { type: 'file-history-snapshot', messageId: 'u1', snapshot: {}, sessionId: 'cc-1' },
      claude('user', 'u1', null, said('Read the file.')),
      claude('assistant', 'u2', 'u1', reply([{ type: 'thinking', thinking: 'Which?', signature: 'sig' }])),
      claude('assistant', 'u3', 'u2', reply([{ type: 'tool_use', id: 't1', name: 'Read', input: { path: 'a' } }])),
      claude('assistant', 'u4', 'u3', reply([{ type: 'tool_use', id: 't2', name: 'Read', input: { path: 'b' } }])),
      claude(
        'user',
        'u5',
        'u3',
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'A' }] },
        { toolUseResult: 'A' },
      ),
      claude('user', 'u6', 'u4', { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't2', content: 'B', is_error: true }] }),
      claude('user', 's1', null, said('Look for C.'), { isSidechain: true }),
      claude('assistant', 's2', 's1', reply([{ type: 'text', text: 'C is there.' }], 'msg_s'), { isSidechain: true }),
      claude('assistant', 'u7', 'u6', reply([{ type: 'text', text: 'Both read.' }], 'msg_2')),
      claude('user', 'u8', 'u7', said('Now delete both.')),
      claude('assistant', 'u9', 'u8', reply([{ type: 'text', text: 'Deleted.' }], 'msg_3')),
      claude('user', 'u10', 'u7', said('Keep them.')),
      { type: 'ai-title', aiTitle: 'Reading files', sessionId: 'cc-1' },
    ),
  },
  sessions: { 'cc-1': 10, 'cc-1/agent-s1': 2 },
}

function rollout(type: string, payload: object, second: number): object {
  return { timestamp: `2026-03-01T10:00:${String(second).padStart(2, '0')}.000Z`, type, payload }
}

const THREAD = '01980000-0000-7000-8000-000000000001'

export const codex: Fixture = {
  format: 'codex',
  name: `/home/a/.codex/sessions/2026/03/01/rollout-2026-03-01T10-00-00-${THREAD}.jsonl`,
  files: {
    'rollout.jsonl': jsonl(
      rollout(
        'session_meta',
        {
          id: THREAD,
          timestamp: '2026-03-01T10:00:00.000Z',
          cwd: '/home/a/project',
          originator: 'cli',
          cli_version: '0.9',
          git: { branch: 'main' },
        },
        0,
      ),
      rollout('turn_context', { cwd: '/home/a/project', model: 'm', approval_policy: 'never' }, 1),
      rollout('response_item', { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'List files.' }] }, 2),
      rollout('event_msg', { type: 'user_message', message: 'List files.' }, 2),
      rollout('response_item', { type: 'reasoning', summary: [{ type: 'summary_text', text: 'ls' }], encrypted_content: 'xyz' }, 3),
      rollout('response_item', { type: 'function_call', name: 'shell', arguments: '{"command":["ls"]}', call_id: 'k1' }, 4),
      rollout('response_item', { type: 'function_call_output', call_id: 'k1', output: 'a b' }, 5),
      rollout('event_msg', { type: 'agent_message', message: 'There are a and b.' }, 6),
      rollout('response_item', { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'There are a and b.' }] }, 6),
      rollout('event_msg', { type: 'token_count', info: {} }, 7),
    ),
  },
  sessions: { [THREAD]: 5 },
}

const openAi: Fixture = {
  format: 'openai',
  name: '/home/a/chats/talk.jsonl',
  files: {
    'talk.jsonl': jsonl(
      { role: 'system', content: 'Be kind.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See:' },
          { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'zoom', arguments: '{not json' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'zoomed' },
      { role: 'user', content: 'yes' },
      { role: 'user', content: 'yes' },
    ),
  },
  sessions: { 'talk-1bdf3384': 6 },
}

const openAiDocument: Fixture = {
  ...openAi,
  name: '/home/a/chats/talk.json',
  document: true,
  files: {
    'talk.json': JSON.stringify({
      model: 'gpt',
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'hello' },
      ],
    }),
  },
  sessions: { 'talk-a1e0831f': 2 },
}

export const pi: Fixture = {
  format: 'pi',
  name: '/home/a/.pi/agent/sessions/2026_pi-1.jsonl',
  files: {
    '2026_pi-1.jsonl': jsonl(
      { type: 'session', version: 3, id: 'pi-1', timestamp: '2026-03-01T10:00:00.000Z', cwd: '/home/a/project' },
      { type: 'message', id: 'a1', parentId: null, timestamp: '2026-03-01T10:00:01.000Z', message: { role: 'user', content: 'one' } },
      {
        type: 'message',
        id: 'a2',
        parentId: 'a1',
        timestamp: '2026-03-01T10:00:02.000Z',
        message: {
          role: 'assistant',
          content: [
            { type: 'text', text: 'two' },
            { type: 'toolCall', id: 'k', name: 'ls', arguments: { path: '.' } },
          ],
          model: 'm',
          usage: { input: 7, output: 3, cacheRead: 0, cacheWrite: 0, totalTokens: 10 },
          stopReason: 'toolUse',
        },
      },
      {
        type: 'message',
        id: 'a3',
        parentId: 'a2',
        timestamp: '2026-03-01T10:00:03.000Z',
        message: { role: 'toolResult', toolCallId: 'k', toolName: 'ls', content: [{ type: 'text', text: 'x' }], isError: false },
      },
      { type: 'model_change', id: 'a4', parentId: 'a3', timestamp: '2026-03-01T10:00:04.000Z', provider: 'p', modelId: 'n' },
      { type: 'message', id: 'a5', parentId: 'a4', timestamp: '2026-03-01T10:00:05.000Z', message: { role: 'user', content: 'three' } },
      { type: 'message', id: 'b1', parentId: 'a3', timestamp: '2026-03-01T10:00:06.000Z', message: { role: 'user', content: 'instead' } },
      {
        type: 'compaction',
        id: 'b2',
        parentId: 'b1',
        timestamp: '2026-03-01T10:00:07.000Z',
        summary: 'One and two.',
        firstKeptEntryId: 'b1',
        tokensBefore: 100,
      },
      { type: 'session_info', id: 'b3', parentId: 'b2', timestamp: '2026-03-01T10:00:08.000Z', name: 'Numbers' },
    ),
  },
  sessions: { 'pi-1': 5 },
}

export const geminiCli: Fixture = {
  format: 'gemini-cli',
  name: '/home/a/.gemini/tmp/abc/chats/session-g-1.jsonl',
  files: {
    'session-g-1.jsonl': jsonl(
      {
        sessionId: 'g-1',
        projectHash: 'abc',
        startTime: '2026-03-01T10:00:00.000Z',
        lastUpdated: '2026-03-01T10:01:00.000Z',
        kind: 'main',
      },
      { id: 'g1', timestamp: '2026-03-01T10:00:01.000Z', type: 'user', content: 'one' },
      { id: 'g2', timestamp: '2026-03-01T10:00:02.000Z', type: 'gemini', content: 'tw', model: 'gemini-x' },
      {
        id: 'g2',
        timestamp: '2026-03-01T10:00:02.000Z',
        type: 'gemini',
        content: 'two',
        model: 'gemini-x',
        tokens: { input: 4, output: 2 },
        toolCalls: [{ id: 'c', name: 'ls', args: {}, result: 'x', status: 'success' }],
      },
      { id: 'g3', timestamp: '2026-03-01T10:00:03.000Z', type: 'user', content: 'wrong' },
      { $rewindTo: 'g3' },
      { id: 'g4', timestamp: '2026-03-01T10:00:04.000Z', type: 'user', content: 'right' },
      { $set: { summary: 'Numbers', lastUpdated: '2026-03-01T10:02:00.000Z' } },
    ),
  },
  sessions: { 'g-1': 4 },
}

const opencode: Fixture = {
  format: 'opencode',
  name: '/home/a/export.json',
  document: true,
  files: {
    'export.json': JSON.stringify({
      info: { id: 'ses_1', title: 'Numbers', directory: '/home/a/project', projectID: 'p', time: { created: 1772359200000 } },
      messages: [
        {
          info: { id: 'msg_1', sessionID: 'ses_1', role: 'user', time: { created: 1772359201000 } },
          parts: [{ type: 'text', text: 'one' }],
        },
        {
          info: {
            id: 'msg_2',
            sessionID: 'ses_1',
            role: 'assistant',
            modelID: 'm',
            providerID: 'p',
            tokens: { input: 5, output: 2, reasoning: 0, cache: { read: 0, write: 0 } },
            time: { created: 1772359202000 },
          },
          parts: [
            { type: 'step-start' },
            { type: 'reasoning', text: 'Hm.' },
            { type: 'tool', tool: 'ls', callID: 'c1', state: { status: 'completed', input: { path: '.' }, output: 'x', title: 'ls' } },
            { type: 'text', text: 'two' },
          ],
        },
      ],
    }),
  },
  sessions: { ses_1: 2 },
}

const holdfast: Fixture = {
  format: 'holdfast',
  name: '/home/a/export.jsonl',
  files: {
    'export.jsonl': jsonl(
      { holdfast: 1, kind: 'session', session: 'h-1', at: '2026-03-01T10:00:00.000Z', description: { title: 'One' } },
      { kind: 'message', id: 'm1', at: '2026-03-01T10:00:01.000Z', message: { role: 'user', content: 'one' } },
      { kind: 'message', id: 'm2', at: '2026-03-01T10:00:02.000Z', message: { role: 'assistant', content: 'two' } },
      { kind: 'snapshot', name: 's', message: 'm1', at: '2026-03-01T10:00:03.000Z' },
      { kind: 'end', items: 4 },
    ),
  },
  sessions: { 'h-1': 2 },
}

export const FIXTURES: readonly Fixture[] = [
  openViking,
  nanobot,
  praisonAi,
  praisonFork,
  claudeCode,
  codex,
  openAi,
  openAiDocument,
  pi,
  geminiCli,
  opencode,
  holdfast,
]

/** One file, or a tar archive of several. */
export function fixtureBytes({ files }: Fixture): Buffer {
  const all = Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.from(text) }))
  return all.length === 1 ? (all[0] as { bytes: Buffer }).bytes : tarOf(all)
}

/** A source of bytes, read in small pieces. A file of a source that has one goes by the name of the source. */
export function sourceOf(
  { name, files }: Pick<Fixture, 'name' | 'files'>,
  change: (bytes: Buffer, path: string) => Buffer = (bytes) => bytes,
): Source {
  const paths = Object.keys(files)
  return {
    name,
    files: paths.map((path) => {
      const bytes = change(Buffer.from(files[path] as string), path)
      return {
        path: paths.length === 1 ? basename(name) : path,
        size: bytes.length,
        read: async function* () {
          for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000)
        },
      }
    }),
  }
}

export async function itemsOf(source: Source, format?: string): Promise<Item[]> {
  const importer = format === undefined ? await detect(source, IMPORTERS) : IMPORTERS.find(({ name }) => name === format)
  if (importer === undefined) throw new Error(`Nobody knows ${source.name}.`)
  const items: Item[] = []
  for await (const item of itemsIn(importer, source)) items.push(item)
  return items
}

export function messagesIn(items: readonly Item[]): Extract<Item, { kind: 'message' }>[] {
  return items.filter((item) => item.kind === 'message')
}

export function ofKind<K extends Item['kind']>(items: readonly Item[], kind: K): Extract<Item, { kind: K }>[] {
  return items.filter((item): item is Extract<Item, { kind: K }> => item.kind === kind)
}
