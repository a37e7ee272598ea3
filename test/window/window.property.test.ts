import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { convert } from '../../src/message/formats.ts'
import { viewOf } from '../../src/message/message.ts'
import type { JsonObject } from '../../src/record/record.ts'
import { assemble } from '../../src/window/assemble.ts'
import type { Item } from '../../src/window/units.ts'
import { asAnthropic, asBlocks, asModelMessages, asOpenAi, asResponses, asUi, type Event, events } from './conversations.ts'
import { acceptedAsUi, acceptedByAiSdk, acceptedByAnthropic, acceptedByOpenAi, acceptedByResponses, merged } from './providers.ts'

const countTokens = (text: string): number => text.length

type Shape = (event: Event, next: Event | undefined) => JsonObject[]
const SHAPES: readonly (readonly [name: string, shape: Shape, accepted: (messages: readonly JsonObject[]) => void])[] = [
  ['OpenAI chat', asOpenAi, acceptedByOpenAi],
  ['Anthropic', asAnthropic, (messages) => acceptedByAnthropic(merged(messages), { anyStart: true })],
  ['Anthropic, block by block', asBlocks, (messages) => acceptedByAnthropic(merged(messages), { anyStart: true })],
  ['Responses items', asResponses, acceptedByResponses],
  ['AI SDK model messages', asModelMessages, acceptedByAiSdk],
  ['AI SDK UI messages', asUi, acceptedAsUi],
]

function itemsOf(happened: readonly Event[], shape: Shape): Item[] {
  return happened
    .flatMap((event, index) => shape(event, happened[index + 1]))
    .map((message, index) => ({ id: `m${index}`, message, view: viewOf(message), tokens: countTokens(JSON.stringify(message)) }))
}

const budgets = fc.oneof(fc.constant(1_000_000), fc.integer({ min: 0, max: 3000 }))
const summaries = [
  { archive: 1, abstract: 'a'.repeat(50), overview: 'o'.repeat(100) },
  { archive: 2, abstract: 'b'.repeat(50), overview: 'p'.repeat(200) },
]

/** What fits into a budget, of what there is. */
function fitted(items: readonly Item[], budget: number): { readonly shown: string[]; readonly whole: string[] } {
  const of = (within: number): string[] =>
    assemble({ budget: within, items, summaries: [], recalled: [], countTokens }).messages.map(({ id }) => id)
  return { shown: of(budget), whole: of(1_000_000) }
}

const worked: readonly Event[] = [
  { kind: 'unknown' },
  { kind: 'system', text: 'Be brief.' },
  { kind: 'calls', text: '', calls: [{ id: 'call_2_0', name: 'tool0' }] },
  { kind: 'results', ids: ['call_2_0'], text: '' },
]

// Both were found by this file: seeds -909269335 and 1767569385. Each budget is exactly that of the instructions, which were shown alone.
test.each([
  ['Responses items', asResponses, 56, ['m1', 'm2', 'm3', 'm4']],
  ['OpenAI chat', asOpenAi, 39, ['m1', 'm2', 'm3']],
] as const)('instructions that fit are not shown without the call and its result, which do not fit: %s', (_, shape, budget, all) => {
  const items = itemsOf(worked, shape)
  const [, instructions] = items
  expect(instructions).toMatchObject({ id: 'm1', tokens: budget })
  expect(fitted(items, budget)).toEqual({ shown: [], whole: all })
  // One less than everything: the newest are shown, and the instructions are left out.
  const needed = items.slice(1).reduce((sum, { tokens }) => sum + tokens, 0)
  expect(fitted(items, needed - 1).shown).toEqual(all.slice(1))
  expect(fitted(items, needed).shown).toEqual(all)
})

/** 200,000 cases were run once when the window was fixed: HOLDFAST_WINDOW_RUNS repeats that. */
const FITTING_RUNS = Number(process.env.HOLDFAST_WINDOW_RUNS ?? 200)

describe.each(SHAPES)('%s', (_, shape, accepted) => {
  test('F25, F26: whatever happened, the window is accepted in its own shape and in every other', () => {
    fc.assert(
      fc.property(events, budgets, (happened, budget) => {
        const items = itemsOf(happened, shape)
        const before = structuredClone(items)
        const { messages } = assemble({ budget, items, summaries, recalled: [], countTokens })
        accepted(messages.map(({ message }) => message))
        acceptedByOpenAi(convert('openai', messages) as unknown as JsonObject[])
        acceptedByAnthropic(convert('anthropic', messages) as unknown as JsonObject[])
        acceptedByResponses(convert('openai-responses', messages))
        acceptedByAiSdk(convert('ai-sdk', messages) as unknown as JsonObject[])
        // What is kept is never touched.
        expect(items).toEqual(before)
      }),
      { numRuns: 300 },
    )
  })

  test('it fits the budget, keeps the newest message of the user, and tells all that is missing and nothing else', () => {
    fc.assert(
      fc.property(events, budgets, (happened, budget) => {
        const items = itemsOf(happened, shape)
        const { messages, tokens, messageTokens, leftOut, overview, abstracts } = assemble({
          budget,
          items,
          summaries,
          recalled: [],
          countTokens,
        })
        const newest = items.findLast(({ view }) => view.role === 'user')
        expect(newest === undefined || messages.some(({ id }) => id === newest.id)).toBe(true)
        expect(messageTokens).toBe(messages.reduce((sum, { message }) => sum + countTokens(JSON.stringify(message)), 0))
        const rest = (overview?.length ?? 0) + abstracts.reduce((sum, { abstract }) => sum + abstract.length, 0)
        expect(tokens).toBe(messageTokens + rest)
        if (tokens > budget) expect(messages.map(({ id }) => id)).toEqual([newest?.id])

        const shown = messages.filter(({ synthetic }) => !synthetic).map(({ id }) => id)
        const missing = leftOut.flatMap((one) => (one.kind === 'message' ? [one.id] : []))
        expect(new Set(missing).size).toBe(missing.length)
        expect([...new Set([...shown, ...missing])].toSorted()).toEqual(items.map(({ id }) => id).toSorted())
        expect(missing.filter((id) => shown.includes(id))).toEqual([])
        for (const one of leftOut) if (one.kind === 'result') expect(shown).toContain(one.id)
        if (budget === 1_000_000) expect(leftOut.filter(({ reason }) => reason === 'budget')).toEqual([])
        expect(leftOut.some(({ kind }) => kind === 'overview')).toBe(overview === null)
        expect(leftOut.filter(({ kind }) => kind === 'abstract')).toHaveLength(1 - abstracts.length)
      }),
      { numRuns: 300 },
    )
  })

  test('what fits is a run without holes that ends with the newest', () => {
    fc.assert(
      fc.property(events, budgets, (happened, budget) => {
        const items = itemsOf(happened, shape)
        const whole = assemble({ budget: 1_000_000, items, summaries: [], recalled: [], countTokens }).messages
        const { messages } = assemble({ budget, items, summaries: [], recalled: [], countTokens })
        // What the user said last is kept in any case, and what is kept may come after the instructions at the beginning.
        const spoken = messages.findLastIndex(({ view }) => view.role === 'user')
        const instructed = messages.length > 1 && messages[0]?.view.role === 'system' && messages[0].id === whole[0]?.id
        const behind = messages.slice(spoken === -1 && instructed ? 1 : spoken + 1)
        expect(behind.map(({ id }) => id)).toEqual(whole.slice(whole.length - behind.length).map(({ id }) => id))
      }),
      { numRuns: FITTING_RUNS },
    )
  })
})
