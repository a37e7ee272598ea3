/**
 * A store as a server of the Model Context Protocol: so an agent can read its own past. Tools to search, list and read, sessions as
 * resources, a prompt that takes up a session; with `allowWrite` also tools that append, fork and commit, none of which destroys anything.
 */
import { z } from 'zod'
import { HoldfastError } from '../../errors.ts'
import { viewOf } from '../../message/message.ts'
import type { SessionApi } from '../../store/api/session-api.ts'
import type { StoredMessage } from '../../store/messages/stored-message.ts'
import type { Window } from '../../store/messages/window.ts'
import { foundCodec } from '../../wire/search.ts'
import { sessionCodec } from '../../wire/sessions.ts'
import { answer, answering, Damage, damageNote, refusing } from './answer.ts'
import { argumentsOf } from './arguments.ts'
import type { McpOptions, McpStore } from './options.ts'
import { completable, McpServer, ResourceTemplate, SubscribeRequestSchema, UnsubscribeRequestSchema } from './sdk.ts'
import { addWriteTools } from './write-tools.ts'

const READS = { readOnlyHint: true, idempotentHint: true, openWorldHint: false } as const
const SCHEME = 'session://'

export function makeMcpServer(store: McpStore, { version, allowWrite, live, wrote = () => undefined }: McpOptions): McpServer {
  const server = new McpServer(
    { name: 'holdfast', version, title: 'Holdfast sessions' },
    {
      // What is logged is what a connection that lasts cannot be answered with: that it no longer hears of a session.
      capabilities: { logging: {}, ...(live ? { resources: { subscribe: true } } : {}) },
      instructions: 'Sessions of AI agents, yours among them. Search for what was said, read a session, or get what fits into a context.',
    },
  )
  addReadTools(server, store)
  if (allowWrite) addWriteTools(server, store, wrote)
  addResources(server, store)
  if (live) addSubscriptions(server, store)
  addPrompt(server, store)
  return server
}

const Hit = z.object({
  kind: z.string(),
  session_id: z.string(),
  title: z.string().nullable(),
  message_id: z.string().nullable(),
  role: z.string().nullable(),
  at: z.string(),
  snippet: z.string(),
  score: z.number(),
})
const Listed = z.object({
  session_id: z.string(),
  title: z.string().nullable(),
  message_count: z.number(),
  updated_at: z.string().nullable(),
  status: z.string(),
})
const Message = z.object({ id: z.string(), at: z.string(), role: z.string().nullable(), text: z.string(), message: z.looseObject({}) })

function addReadTools(server: McpServer, store: McpStore): void {
  server.registerTool(
    'search_sessions',
    {
      title: 'Search sessions',
      description: 'Finds messages, titles, summaries and memories by words, in all sessions or in one. Best first, with snippets.',
      inputSchema: argumentsOf({
        query: z.string().min(1),
        session_id: z.string().optional(),
        limit: z.number().int().min(1).max(100).default(20),
      }),
      outputSchema: { hits: z.array(Hit), damage: Damage },
      annotations: READS,
    },
    answering(async ({ query, session_id: session, limit }) => {
      if (session !== undefined) await requireSession(store, session)
      const found = await store.search(query, { limit, ...(session === undefined ? {} : { session }) })
      return answer({ hits: foundCodec.encode(found).hits.map((hit) => Hit.parse(hit)) }, found.damage)
    }),
  )
  server.registerTool(
    'list_sessions',
    {
      title: 'List sessions',
      description: 'Sessions, those changed last first, a page at a time.',
      inputSchema: argumentsOf({
        query: z.string().optional().describe('words that the id, the title or a tag must have'),
        limit: z.number().int().min(1).max(200).default(50),
        cursor: z.string().optional().describe('where the page before ended'),
      }),
      outputSchema: { sessions: z.array(Listed), next_cursor: z.string().nullable() },
      annotations: READS,
    },
    answering(async ({ query, limit, cursor }) => {
      const page = await store.list({ limit, ...(query === undefined ? {} : { query }), ...(cursor === undefined ? {} : { cursor }) })
      return answer({ sessions: page.sessions.map((info) => Listed.parse(sessionCodec.encode(info))), next_cursor: page.cursor })
    }),
  )
  server.registerTool(
    'read_session',
    {
      title: 'Read a session',
      description: 'Messages of a session, oldest first: the newest ones, or those before one. Those in archives too.',
      inputSchema: argumentsOf({
        session_id: z.string(),
        limit: z.number().int().min(1).max(500).default(50),
        before: z.string().optional(),
      }),
      outputSchema: { messages: z.array(Message), more: z.boolean(), damage: Damage },
      annotations: READS,
    },
    answering(async ({ session_id, limit, before }) => {
      const session = await store.session(session_id)
      const { messages, more, damage } = await session.messages({ limit, archived: true, ...(before === undefined ? {} : { before }) })
      return answer({ messages: messages.map(messageFields), more }, damage)
    }),
  )
  const window = {
    inputSchema: argumentsOf({
      session_id: z.string(),
      token_budget: z.number().int().min(1).max(1_000_000).default(8000),
      recall: z.string().optional().describe('words: adds memories and older messages that match'),
    }),
    outputSchema: {
      text: z.string(),
      tokens: z.number(),
      left_out: z.number().describe('messages outside of archives that are not in the text'),
      damage: Damage,
    },
    annotations: READS,
  }
  const getWindow = answering(async ({ session_id, token_budget: budget, recall }: WindowQuery) => {
    const made = await (await store.session(session_id)).window({ budget, ...(recall === undefined ? {} : { recall }) })
    return answer({ text: textOf(made), tokens: made.tokens, left_out: messagesLeftOut(made) }, made.damage)
  })
  const about = 'What to send to a model: the summary of earlier messages and the newest messages, within a budget of tokens.'
  server.registerTool('get_window', { title: 'Get the window of a session', description: about, ...window }, getWindow)
  const former = 'The same as get_window, by its former name.'
  server.registerTool('get_context', { title: 'Get the window of a session', description: former, ...window }, getWindow)
}

interface WindowQuery {
  readonly session_id: string
  readonly token_budget: number
  readonly recall?: string | undefined
}

function addResources(server: McpServer, store: McpStore): void {
  const list = async () => ({
    resources: (await store.list({ limit: 100 })).sessions.map(({ id, title, updatedAt, messageCount, status }) => ({
      uri: uriOf(id),
      name: title ?? id,
      description: `${messageCount} messages, changed last at ${updatedAt}${status === 'ok' ? '' : `, ${status}`}`,
      mimeType: 'text/markdown',
    })),
  })
  const about = { title: 'A session', description: 'The newest messages of a session, as text', mimeType: 'text/markdown' }
  server.registerResource(
    'session',
    new ResourceTemplate(`${SCHEME}{id}`, { list, complete: { id: completionsIn(store) } }),
    about,
    refusing(async (uri: URL) => {
      const { messages, damage } = await (await store.session(idOf(uri.href))).messages({ limit: 200, archived: true })
      const note = damage.length === 0 ? '' : `> ${damageNote(damage)}\n\n`
      const text = note + messages.map(({ at, message }) => `## ${headOf(message)} · ${at}\n\n${viewOf(message).text}\n`).join('\n')
      return { contents: [{ uri: uri.href, mimeType: 'text/markdown', text }] }
    }),
  )
}

/** Whoever subscribes hears of every change, by whichever process. */
function addSubscriptions(server: McpServer, store: McpStore): void {
  const following = new Map<string, AbortController>()
  const subscribe = refusing(async (uri: string) => {
    if (following.has(uri)) return {}
    const session = await requireSession(store, idOf(uri))
    // Another request may have come while this one looked.
    if (following.has(uri)) return {}
    const controller = new AbortController()
    following.set(uri, controller)
    const changes = session.follow({ signal: controller.signal })
    const tell = async (): Promise<void> => {
      for await (const _ of changes) await server.server.sendResourceUpdated({ uri })
    }
    tell().catch((error: unknown) => {
      following.delete(uri)
      if (controller.signal.aborted) return
      const data = `Changes of ${uri} are no longer told. Subscribe again. (${messageOf(error)})`
      server.server.sendLoggingMessage({ level: 'warning', logger: 'holdfast', data }).catch(() => undefined)
    })
    return {}
  })
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => subscribe(uri))
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
    following.get(uri)?.abort()
    following.delete(uri)
    return {}
  })
  server.server.onclose = () => {
    for (const controller of following.values()) controller.abort()
  }
}

function addPrompt(server: McpServer, store: McpStore): void {
  const argsSchema = { session_id: completable(z.string(), completionsIn(store)), token_budget: z.string().regex(/^\d+$/).optional() }
  const prompt = server.registerPrompt(
    'resume_session',
    { title: 'Resume a session', description: 'Takes up a session where it ended.', argsSchema },
    refusing(async ({ session_id, token_budget = '8000' }: PromptQuery) => {
      const window = await (await store.session(session_id)).window({ budget: Number(token_budget) })
      const text = `This is what was said so far in the session "${session_id}". Go on from here.\n\n${textOf(window)}`
      return { messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }] }
    }),
  )
  // The protocol's package takes the fields of a prompt only, and passes over what it does not know.
  prompt.argsSchema = argumentsOf(argsSchema)
}

interface PromptQuery {
  readonly session_id: string
  readonly token_budget?: string | undefined
}

/** A session that there is. One that is damaged is, too: what cannot be read of it is reported by who reads it. */
async function requireSession(store: McpStore, id: string): Promise<SessionApi> {
  const session = await store.session(id)
  await session.info().catch((error: unknown) => {
    if (error instanceof HoldfastError && error.code === 'NOT_FOUND') throw error
  })
  return session
}

/** Ids of sessions that go with what was typed, those changed last first. */
function completionsIn(store: McpStore): (typed: string) => Promise<string[]> {
  return async (typed) => (await store.list({ limit: 100, ...(typed === '' ? {} : { query: typed }) })).sessions.map(({ id }) => id)
}

/** How many messages a window lacks. Of those that cannot be read and whose number is unknown, there is at least one. */
function messagesLeftOut({ leftOut }: Window): number {
  const counts = leftOut.map((one) => (one.kind === 'messages' ? (one.count ?? 1) : one.kind === 'message' ? 1 : 0))
  return counts.reduce((sum, count) => sum + count, 0)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function messageFields({ id, at, message }: StoredMessage) {
  const { role, text } = viewOf(message)
  return { id, at, role: role ?? null, text, message }
}

function textOf({ overview, abstracts, recalled, messages, damage }: Window): string {
  const parts = [
    ...(damage.length === 0 ? [] : [damageNote(damage)]),
    ...abstracts.map(({ abstract }) => `Earlier: ${abstract}`),
    ...(overview === null ? [] : [`Summary: ${overview}`]),
    ...recalled.map(({ text }) => `Recalled: ${text}`),
    ...messages.map((message) => `${headOf(message)}: ${viewOf(message).text}`),
  ]
  return parts.join('\n\n')
}

/** Who speaks, and which tools he calls or answers for. */
function headOf(message: Parameters<typeof viewOf>[0]): string {
  const { role = 'message', calls, results } = viewOf(message)
  const tools = [...calls.map(({ name }) => `calls ${name}`), ...results.map(({ name }) => `answer of ${name ?? 'a tool'}`)]
  return tools.length === 0 ? role : `${role} (${tools.join(', ')})`
}

function uriOf(id: string): string {
  return `${SCHEME}${encodeURIComponent(id)}`
}

function idOf(uri: string): string {
  if (!uri.startsWith(SCHEME)) throw new HoldfastError('INVALID_ARGUMENT', `A session is named as ${SCHEME}id; got ${uri.slice(0, 100)}.`)
  try {
    return decodeURIComponent(uri.slice(SCHEME.length).replace(/\/$/, ''))
  } catch (error) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `${uri.slice(0, 100)} is no address: write the id of the session with % escapes of UTF-8.`,
      {
        cause: error,
      },
    )
  }
}
