/** What another project writes: the sources that the test of the package compiles. A line after `@ts-expect-error` must not compile. */

export const TALK = `
import type { CommittedApi, SessionApi, StoreApi } from 'holdfast'
import { doctor, exportFrom, HoldfastError, importInto, LIMITS, openStore, type RevertTarget, type Session, sourcesAt, Worker } from 'holdfast'
import { connect } from 'holdfast/client'
import type { Engine } from 'holdfast/engine'
import { openPostgresEngine } from 'holdfast/postgres'
import { Server } from 'holdfast/server'
export * as conformance from 'holdfast/conformance'
export * as hook from 'holdfast/hooks/claude-code'
export { connect, doctor, exportFrom, importInto, openPostgresEngine, Server, sourcesAt, Worker }

export async function talk(directory: string, back: RevertTarget): Promise<number> {
  await using store = await openStore(directory)
  const session: Session = store.session('support-42')
  const { id } = await session.append({ role: 'user', content: 'x'.repeat(LIMITS.idBytes) })
  await session.fork({ at: id })
  await session.revert(back)
  for await (const piece of exportFrom(store)) if (piece === '') throw new HoldfastError('NOT_FOUND', 'An empty piece.')
  return (await session.info()).messageCount
}

export async function everySession(store: StoreApi): Promise<SessionApi | undefined> {
  let cursor: string | null = null
  do ({ cursor } = await store.list({ cursor }))
  while (cursor !== null)
  const committed: CommittedApi = await store.session('support-42').commit()
  return committed.status === 'skipped' ? undefined : store.session('support-42')
}

export function nameOf(engine: Engine): string {
  return engine.name('default', 'support-42')
}
`

/** Messages of the default type and of a type of the caller's own, here and at a server. */
export const TYPED = `
import type { Change, Message, Session, Store, StoredMessage } from 'holdfast'
import type { RemoteStore, SessionApi } from 'holdfast/client'

export async function accepts(session: Session): Promise<void> {
  await session.append({ role: 'user', content: 'Hello' })
  await session.append({ role: 'user', content: [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral' } }], trace: 7 })
  await session.append([{ role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] }])
  await session.append({ role: 'tool', tool_call_id: 'c', content: '30 degrees' })
  await session.append({ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hello' }], metadata: {} })
  await session.append({ role: 'model', parts: [{ text: 'Hello' }, { functionCall: { name: 'f', args: {} } }] })
  await session.append({ role: 'user', text: 'Hello' })
  await session.append({ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' })
  await session.append({ lc: 1, type: 'constructor', id: ['langchain_core', 'messages', 'HumanMessage'], kwargs: { content: 'Hello' } })
  await session.append({ type: 'assistant', uuid: 'u', message: { role: 'assistant', content: [] } })
}

export async function refuses(session: Session): Promise<void> {
  // @ts-expect-error a number is no message
  await session.append(42)
  // @ts-expect-error a text is no message
  await session.append('Hello')
  // @ts-expect-error neither a role nor a type
  await session.append({ rol: 'user' })
  // @ts-expect-error a role is a text
  await session.append({ role: 1, content: 'Hello' })
  // @ts-expect-error content is a text, a list of parts or null
  await session.append({ role: 'user', content: 42 })
  // @ts-expect-error one of them is no message
  await session.append([{ role: 'user', content: 'Hello' }, 42])
  // @ts-expect-error a message is replaced by a message
  await session.replace('m1', { rol: 'user' })
}

export async function reads(session: Session): Promise<string> {
  const { messages } = await session.messages()
  const [first] = messages
  const stored: StoredMessage<Message> | undefined = first
  if (stored?.message.role === undefined) return ''
  const { content } = stored.message
  return typeof content === 'string' ? content : (content ?? []).map((part) => (typeof part === 'string' ? part : (part.text ?? ''))).join('')
}

interface Note {
  readonly kind: 'note'
  readonly text: string
  readonly stars?: number
}

export async function own(store: Store | RemoteStore): Promise<number> {
  const session: SessionApi<Note> = store.session<Note>('notes')
  await session.append({ kind: 'note', text: 'Buy milk' })
  await session.append([{ kind: 'note', text: 'Buy milk', stars: 3 }])
  // @ts-expect-error not a note
  await session.append({ role: 'user', content: 'Hello' })
  // @ts-expect-error a typing error in a field
  await session.append({ kind: 'note', text: 'Buy milk', star: 3 })
  // @ts-expect-error not a note
  await session.replace('m1', { kind: 'note' })
  const { messages } = await session.messages()
  const fork = await session.fork()
  const change: Change<Note> | undefined = (await fork.follow().next()).value
  const texts: string[] = [
    ...messages.map(({ message }) => message.text),
    ...(await session.revisions('m1')).revisions.map(({ message }) => message.text),
    ...((await session.archive(1))?.messages ?? []).map(({ message }) => message.text),
    ...(await fork.window()).messages.map(({ text }) => text),
    ...(change?.messages ?? []).map(({ message }) => message.text),
    (await session.message('m1'))?.message.text ?? '',
  ]
  const created = await store.create<Note>({ title: 'Notes' })
  await created.append({ kind: 'note', text: 'Buy milk' })
  return texts.length
}
`

/** Windows in each format, and messages of each SDK, against the types of the SDKs themselves. */
export const SDKS = `
import type Anthropic from '@anthropic-ai/sdk'
import type { BaseMessage } from '@langchain/core/messages'
import type { AgentInputItem } from '@openai/agents-core'
import { type LanguageModel, type ModelMessage, streamText, type UIMessage } from 'ai'
import type { Session, TextMessage } from 'holdfast'
import type { RemoteSession } from 'holdfast/client'
import type OpenAI from 'openai'

export async function windows(session: Session, model: LanguageModel): Promise<unknown[]> {
  const { messages } = await session.window({ format: 'ai-sdk', budget: 8000 })
  const chat: OpenAI.ChatCompletionMessageParam[] = (await session.window({ format: 'openai' })).messages
  const items: OpenAI.Responses.ResponseInputItem[] = (await session.window({ format: 'openai-responses' })).messages
  const anthropic: Anthropic.MessageParam[] = (await session.window({ format: 'anthropic' })).messages
  const texts: TextMessage[] = (await session.window({ format: 'text' })).messages
  // @ts-expect-error one format does not fit the SDK of another
  const wrong: ModelMessage[] = (await session.window({ format: 'openai' })).messages
  // @ts-expect-error there is no such format
  await session.window({ format: 'gemini' })
  return [streamText({ model, messages }), chat, items, anthropic, texts, wrong]
}

export async function windowsAtServer(session: RemoteSession, model: LanguageModel): Promise<unknown> {
  return streamText({ model, messages: (await session.window({ format: 'ai-sdk' })).messages })
}

export async function appends(
  session: Session,
  ui: UIMessage,
  modelMessage: ModelMessage,
  chat: OpenAI.ChatCompletionMessageParam,
  answer: OpenAI.ChatCompletionMessage,
  // A reference to an item at OpenAI has no content to keep.
  input: Exclude<OpenAI.Responses.ResponseInputItem, OpenAI.Responses.ResponseInputItem.ItemReference>,
  output: OpenAI.Responses.ResponseOutputItem,
  prompt: Anthropic.MessageParam,
  reply: Anthropic.Message,
  langchain: BaseMessage,
  agent: AgentInputItem,
): Promise<void> {
  await session.append(ui)
  await session.append([ui, ui])
  await session.append(modelMessage)
  await session.append(chat)
  await session.append(answer)
  await session.append(input)
  await session.append(output)
  await session.append(prompt)
  await session.append(reply)
  await session.append(langchain)
  await session.append(agent)
}

export async function typed(session: Session<UIMessage>): Promise<UIMessage[]> {
  return (await session.messages()).messages.map(({ message }) => message)
}
`
