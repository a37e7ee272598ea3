/**
 * The model that needs no network: it chooses sentences, and writes none. The same messages always give the same answer, within
 * bounds, in time linear in their length. It is no match for a language model, but a reader of its overview knows what was asked, what
 * came of it, which files it was about, what went wrong and what is open.
 */
import type { Model, PromptMessage, SummaryAnswer } from '../model.ts'
import { type Digest, digest, inOrder } from './digest.ts'
import { EMPTY, parseOverview, renderOverview, type Sections } from './sections.ts'

/**
 * The model that needs no network. The same messages always give the same answer.
 *
 * @example const worker = new Worker(store, { model: extractive })
 */
export const extractive: Model = {
  name: 'extractive',
  // It could take any number, but works without a pause.
  inputTokens: 100_000,
  summarise: async ({ previous, messages }) => extract(previous, messages),
}

const ABSTRACT_CHARACTERS = 200
/** So that facts of earlier messages are not all pushed out at once. */
const NEW_FACTS = 5
const OPEN_CALLS = 2
const USER_ASKED = 'User asked: '
const ASSISTANT_ASKED = 'Assistant asked: '
const OPEN_CALL = /^Call without a result: \S{1,100} \((\S{1,300})\)$/

function extract(previous: string | null, messages: readonly PromptMessage[]): SummaryAnswer {
  const fresh = digest(messages)
  const sections = update(previous === null ? EMPTY : parseOverview(previous), fresh)
  return { abstract: abstractOf(fresh, messages.length), overview: renderOverview(sections), memories: fresh.memories }
}

/** The new overview: what the old one says, in so far as the new messages do not change it, and what they add. */
function update(before: Sections, fresh: Digest): Sections {
  const { requests, state, references } = fresh
  const goal = before.goal[0] ?? requests[0] ?? fresh.opening
  const change = requests.findLast((request) => request !== goal) ?? before.goal[1]
  const errors = fresh.errors.filter((error) => error !== goal && error !== change)
  const told = new Set([goal, change, ...state, ...errors])
  const facts = inOrder(fresh.facts.filter(({ text }) => !told.has(text)).slice(0, NEW_FACTS))
  return {
    goal: [goal, change].filter((item) => item !== undefined),
    state: state.length > 0 ? state : before.state,
    facts: merged(before.facts, facts),
    references: merged(before.references, references),
    errors: merged(before.errors, errors),
    questions: merged(
      before.questions.filter((question) => isStillOpen(question, fresh)),
      openIn(fresh),
    ),
  }
}

/** The older first; what is mentioned again counts as new. */
function merged(older: readonly string[], newer: readonly string[]): string[] {
  const again = new Set(newer)
  return [...older.filter((item) => !again.has(item)), ...newer]
}

function openIn({ calls, results, userAsked, assistantAsked }: Digest): string[] {
  const open = [...calls].filter(([id]) => !results.has(id)).slice(-OPEN_CALLS)
  return [
    ...open.map(([id, name]) => `Call without a result: ${name} (${id})`),
    ...assistantAsked.map((question) => `${ASSISTANT_ASKED}${question}`),
    ...userAsked.map((question) => `${USER_ASKED}${question}`),
  ]
}

function isStillOpen(question: string, { results, userSpoke, assistantSpoke }: Digest): boolean {
  if (question.startsWith(USER_ASKED)) return !assistantSpoke
  if (question.startsWith(ASSISTANT_ASKED)) return !userSpoke
  const call = OPEN_CALL.exec(question)?.[1]
  return call === undefined || !results.has(call)
}

function abstractOf({ requests, opening, state, facts, first, calls }: Digest, count: number): string {
  const parts = [...new Set([requests[0] ?? opening, state[0] ?? facts[0]?.text])].filter((part) => part !== undefined)
  if (parts.length > 0) return parts.map((part) => short(part, parts.length === 1 ? ABSTRACT_CHARACTERS : 98)).join(' — ')
  if (first !== undefined) return short(first, ABSTRACT_CHARACTERS)
  const tools = [...new Set(calls.values())].slice(0, 5).join(', ')
  const what = count === 1 ? '1 message' : `${count} messages`
  return short(`${what} without text${tools === '' ? '' : `; calls of ${tools}`}.`, ABSTRACT_CHARACTERS)
}

function short(text: string, characters: number): string {
  if (text.length <= characters) return text
  // A pair that would be cut in two goes altogether.
  return `${text
    .slice(0, characters - 1)
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd()}…`
}
