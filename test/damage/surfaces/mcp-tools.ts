/** Every tool of the MCP server, its resource and its prompt, with what they must answer. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { makeMcpServer } from '../../../src/adapters/mcp/server.ts'
import type { Store } from '../../../src/store/store.ts'
import { type Answers, LISTS, READS, READS_WINDOW, type Seen, storeFor, WRITES } from './answers.ts'
import type { Opened } from './place.ts'
import { TALK, WORD } from './subject.ts'
import type { Surface } from './surface.ts'

type Spec = readonly [answers: Answers, words: object]

const TOOLS: Readonly<Record<string, Spec>> = {
  search_sessions: [LISTS, { query: WORD }],
  list_sessions: [LISTS, {}],
  read_session: [READS, { session_id: TALK }],
  get_context: [READS_WINDOW, { session_id: TALK }],
  get_window: [READS_WINDOW, { session_id: TALK }],
  append_message: [WRITES, { session_id: TALK, content: 'x' }],
  fork_session: [WRITES, { session_id: TALK }],
  commit_session: [WRITES, { session_id: TALK, keep: 0 }],
}

/** The names that a server offers to an agent that may write. */
export async function toolNames(store: Store): Promise<string[]> {
  const client = await clientOf(store)
  const [{ tools }, { prompts }, { resourceTemplates }] = [
    await client.listTools(),
    await client.listPrompts(),
    await client.listResourceTemplates(),
  ]
  await client.close()
  return [
    ...tools.map(({ name }) => `mcp tool ${name}`),
    ...prompts.map(({ name }) => `mcp prompt ${name}`),
    ...resourceTemplates.map(({ name }) => `mcp resource ${name}`),
  ]
}

export const MCP_SURFACES: readonly Surface[] = [
  ...Object.entries(TOOLS).map(
    ([name, [answers, words]]): Surface => ({
      name: `mcp tool ${name}`,
      answers,
      on: name === 'search_sessions' ? 'searching' : storeFor(answers),
      ask: (opened) => asked(opened, async (client) => reportOf(name, await client.callTool({ name, arguments: { ...words } }))),
    }),
  ),
  {
    name: 'mcp prompt resume_session',
    answers: READS_WINDOW,
    on: 'reading',
    ask: (opened) => asked(opened, (client) => client.getPrompt({ name: 'resume_session', arguments: { session_id: TALK } })),
  },
  {
    name: 'mcp resource session',
    answers: READS,
    on: 'reading',
    ask: (opened) => asked(opened, (client) => client.readResource({ uri: `session://${TALK}` })),
  },
]

/** Whether an answer says in words that it is incomplete. Errors have a text, and no code. */
async function asked({ store }: Opened, work: (client: Client) => Promise<unknown>): Promise<Seen> {
  const client = await clientOf(store)
  try {
    return seenIn(JSON.stringify(await work(client)))
  } catch (error) {
    return { reported: false, refused: isRefusal((error as Error).message) }
  } finally {
    await client.close()
  }
}

function seenIn(text: string): Seen {
  const isError = text.includes('"isError":true')
  return {
    reported: !isError && (text.includes('Warning: this is incomplete') || text.includes('"status":"damaged"')),
    refused: isError && isRefusal(text),
  }
}

function isRefusal(text: string): boolean {
  return /doctor|vanished|belongs? to another session/i.test(text)
}

/** Text and structured content must agree. */
function reportOf(name: string, answer: Readonly<Record<string, unknown>>): unknown {
  const { damage } = (answer.structuredContent ?? {}) as { damage?: unknown[] }
  const inText = JSON.stringify(answer.content ?? []).includes('Warning: this is incomplete')
  if ((damage === undefined) === inText) throw new Error(`${name}: the text and the structured content do not say the same.`)
  return answer
}

async function clientOf(store: Store): Promise<Client> {
  const server = makeMcpServer(store, { version: '0.0.0', allowWrite: true, live: true })
  const client = new Client({ name: 'test', version: '0' })
  const [here, there] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(there), client.connect(here)])
  return client
}
