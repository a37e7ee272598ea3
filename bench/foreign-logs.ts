/** Long logs of other programs, as their writers leave them: questions and answers of about 1 KiB each, with all that stands around them. */
import { open } from 'node:fs/promises'
import { TEXT } from './session.ts'

export interface ForeignLog {
  readonly format: string
  /** What the file is called; some formats tell by it which session it is. */
  readonly name: string
  /** The lines in front of the first message. */
  readonly first: readonly object[]
  /** The lines of one message, by its number. */
  lines(i: number, text: string): readonly object[]
  /** The line behind the last one. */
  last?(count: number): object
}

const SESSION = '01980000-0000-7000-8000-000000000001'

function roleOf(i: number): 'user' | 'assistant' {
  return i % 2 === 0 ? 'user' : 'assistant'
}

function timeOf(i: number): string {
  return new Date(1_772_359_200_000 + 1000 * i).toISOString()
}

function uuidOf(i: number): string {
  return `01980000-0000-7000-9000-${i.toString(16).padStart(12, '0')}`
}

const openAi: ForeignLog = {
  format: 'openai',
  name: 'chat.jsonl',
  first: [],
  lines: (i, content) => [{ role: roleOf(i), content }],
}

const nanobot: ForeignLog = {
  format: 'nanobot',
  name: 'telegram_42.jsonl',
  first: [{ _type: 'metadata', key: 'telegram:42', created_at: '2026-03-01T10:00:00', metadata: {}, last_consolidated: 0 }],
  lines: (i, content) => [{ role: roleOf(i), content, timestamp: timeOf(i).slice(0, -1) }],
}

const claudeCode: ForeignLog = {
  format: 'claude-code',
  name: `${SESSION}.jsonl`,
  first: [],
  lines: (i, text) => {
    const isReply = i % 2 === 1
    const usage = { input_tokens: 4, cache_creation_input_tokens: 812, cache_read_input_tokens: 20_140, output_tokens: 231 }
    const reply = { id: `msg_${i}`, type: 'message', role: 'assistant', model: 'claude-x', content: [{ type: 'text', text }], usage }
    return [
      {
        parentUuid: i === 0 ? null : uuidOf(i - 1),
        isSidechain: false,
        userType: 'external',
        cwd: '/home/a/project',
        sessionId: SESSION,
        version: '2.0.1',
        gitBranch: 'main',
        type: roleOf(i),
        message: isReply ? reply : { role: 'user', content: text },
        ...(isReply ? { requestId: `req_${i}` } : {}),
        uuid: uuidOf(i),
        timestamp: timeOf(i),
      },
    ]
  },
}

const codex: ForeignLog = {
  format: 'codex',
  name: `rollout-2026-03-01T10-00-00-${SESSION}.jsonl`,
  first: [
    {
      timestamp: timeOf(0),
      type: 'session_meta',
      payload: { id: SESSION, timestamp: timeOf(0), cwd: '/home/a/project', originator: 'cli', cli_version: '0.9' },
    },
  ],
  lines: (i, text) => {
    const line = (type: string, payload: object): object => ({ timestamp: timeOf(i), type, payload })
    const part = { type: i % 2 === 0 ? 'input_text' : 'output_text', text }
    return [
      line('response_item', { type: 'message', role: roleOf(i), content: [part] }),
      line('event_msg', { type: i % 2 === 0 ? 'user_message' : 'agent_message', message: text }),
    ]
  },
}

const pi: ForeignLog = {
  format: 'pi',
  name: `2026-03-01_${SESSION}.jsonl`,
  first: [{ type: 'session', version: 3, id: SESSION, timestamp: timeOf(0), cwd: '/home/a/project' }],
  lines: (i, text) => {
    const idOf = (number: number): string => number.toString(16).padStart(8, '0')
    const usage = { input: 816, output: 231, cacheRead: 20_140, cacheWrite: 0, totalTokens: 21_187 }
    const reply = { role: 'assistant', content: [{ type: 'text', text }], provider: 'p', model: 'm', usage, stopReason: 'stop' }
    const message = i % 2 === 0 ? { role: 'user', content: text } : reply
    return [{ type: 'message', id: idOf(i), parentId: i === 0 ? null : idOf(i - 1), timestamp: timeOf(i), message }]
  },
}

const geminiCli: ForeignLog = {
  format: 'gemini-cli',
  name: `session-${SESSION}.jsonl`,
  first: [{ sessionId: SESSION, projectHash: 'abc', startTime: timeOf(0), lastUpdated: timeOf(0), kind: 'main' }],
  lines: (i, content) => {
    const reply = { type: 'gemini', content, tokens: { input: 816, output: 231 }, model: 'gemini-x' }
    return [{ id: uuidOf(i), timestamp: timeOf(i), ...(i % 2 === 0 ? { type: 'user', content } : reply) }]
  },
}

const holdfast: ForeignLog = {
  format: 'holdfast',
  name: 'export.jsonl',
  first: [{ holdfast: 1, kind: 'session', session: SESSION, at: timeOf(0), description: {} }],
  lines: (i, content) => [{ kind: 'message', id: uuidOf(i), at: timeOf(i), message: { role: roleOf(i), content } }],
  last: (count) => ({ kind: 'end', items: count + 1 }),
}

export const CHAT = openAi
/** Every format that is one line a message. */
export const LOGS: readonly ForeignLog[] = [openAi, nanobot, claudeCode, codex, pi, geminiCli, holdfast]

export async function writeLog(path: string, log: ForeignLog, count: number): Promise<void> {
  const { first, lines } = log
  const file = await open(path, 'w')
  try {
    let text = first.map((line) => `${JSON.stringify(line)}\n`).join('')
    for (let i = 0; i < count; ) {
      for (const end = Math.min(i + 1000, count); i < end; i++) {
        for (const line of lines(i, `${i} ${TEXT}`.padEnd(980, 'and so on '))) text += `${JSON.stringify(line)}\n`
      }
      await file.write(text)
      text = ''
    }
    if (log.last !== undefined) await file.write(`${JSON.stringify(log.last(count))}\n`)
    // As files lie on a disk that were not written a moment ago.
    await file.sync()
  } finally {
    await file.close()
  }
}
