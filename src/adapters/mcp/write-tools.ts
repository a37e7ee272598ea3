/** The tools of an agent that may write. Each is safe to repeat where it names what it makes; none destroys anything. */
import { z } from 'zod'
import { answer, answering } from './answer.ts'
import { argumentsOf } from './arguments.ts'
import type { McpOptions, McpStore } from './options.ts'
import type { McpServer } from './sdk.ts'

const ADDS = { readOnlyHint: false, destructiveHint: false, openWorldHint: false } as const

export function addWriteTools(server: McpServer, store: Pick<McpStore, 'session'>, wrote: NonNullable<McpOptions['wrote']>): void {
  server.registerTool(
    'append_message',
    {
      title: 'Append a message',
      description:
        'Appends a message to a session, which is made if there is none. With a message_id it happens once, however often it is tried.',
      inputSchema: argumentsOf({
        session_id: z.string(),
        role: z.enum(['user', 'assistant', 'system']).default('assistant'),
        content: z.string(),
        message_id: z.string().optional(),
      }),
      outputSchema: { session_id: z.string(), message_id: z.string(), duplicate: z.boolean() },
      annotations: { ...ADDS, idempotentHint: false },
    },
    answering(async ({ session_id, role, content, message_id }) => {
      const session = await store.session(session_id, { creates: true })
      const { id, duplicate } = await session.append({ role, content }, message_id === undefined ? {} : { ids: [message_id] })
      wrote('append_message', session_id)
      return answer({ session_id, message_id: id, duplicate })
    }),
  )
  server.registerTool(
    'fork_session',
    {
      title: 'Fork a session',
      description: 'Makes a session that begins with the messages of another one, up to the last or to one of them. Copies nothing.',
      inputSchema: argumentsOf({
        session_id: z.string(),
        at: z.string().optional().describe('the message that it ends with'),
        title: z.string().optional(),
      }),
      outputSchema: { session_id: z.string(), parent: z.string() },
      annotations: { ...ADDS, idempotentHint: false },
    },
    answering(async ({ session_id, at, title }) => {
      const session = await store.session(session_id)
      const fork = await session.fork({ ...(at === undefined ? {} : { at }), ...(title === undefined ? {} : { title }) })
      wrote('fork_session', fork.id)
      return answer({ session_id: fork.id, parent: session_id })
    }),
  )
  server.registerTool(
    'commit_session',
    {
      title: 'Commit a session',
      description: 'Moves the messages of a session into an archive, but for the newest ones, and has it summarised in the background.',
      inputSchema: argumentsOf({ session_id: z.string(), keep: z.number().int().min(0).max(1000).default(4) }),
      outputSchema: { status: z.enum(['accepted', 'skipped']), archived: z.number() },
      annotations: { ...ADDS, idempotentHint: true },
    },
    answering(async ({ session_id, keep }) => {
      const committed = await (await store.session(session_id)).commit({ keep })
      wrote('commit_session', session_id)
      return answer({ status: committed.status, archived: committed.status === 'accepted' ? committed.messageCount : 0 })
    }),
  )
}
