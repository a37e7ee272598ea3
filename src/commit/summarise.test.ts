import { describe, expect, test } from 'vitest'
import { InputTooLong, type Model, ModelUnavailable, type PromptMessage, type SummaryRequest } from './model.ts'
import { extractive } from './models/extractive.ts'
import { promptOf, shorten, summarise } from './summarise.ts'

const signal = new AbortController().signal
/** One token for each character, so that every sum can be checked. */
const countTokens = (text: string): number => text.length

function said(count: number, characters: number): PromptMessage[] {
  return Array.from({ length: count }, (_, index) => ({ id: `m${index}`, role: 'user', text: 'x'.repeat(characters), extract: true }))
}

/** Remembers what it was asked, and refuses what is longer than its real limit. */
class Recorder implements Model {
  readonly name = 'recorder'
  readonly inputTokens: number
  readonly requests: SummaryRequest[] = []
  readonly #realLimit: number

  constructor(inputTokens: number, realLimit = inputTokens) {
    this.inputTokens = inputTokens
    this.#realLimit = realLimit
  }

  async summarise(request: SummaryRequest) {
    if (tokensOf(request) > this.#realLimit) throw new InputTooLong('too long')
    this.requests.push(request)
    const { messages } = request
    const part = this.requests.length
    return {
      abstract: `part ${part}`,
      overview: `overview ${part}`,
      memories: [
        { key: 'fact: last', category: 'fact', text: `part ${part}`, sources: messages.map(({ id }) => id) },
        { key: `fact: ${part}`, category: 'fact', text: `part ${part}`, sources: messages.map(({ id }) => id) },
      ],
      usage: { inputTokens: 10, outputTokens: 1 },
    }
  }
}

function tokensOf({ previous, messages }: SummaryRequest): number {
  return messages.reduce((sum, { text }) => sum + text.length, previous?.length ?? 0)
}

describe('F20: the input of a model is bounded', () => {
  test('a long archive goes in parts, each with the overview of the one before', async () => {
    const model = new Recorder(1000)
    const answer = await summarise(model, { previous: 'before', messages: said(50, 200) }, { signal, countTokens })
    expect(model.requests.length).toBeGreaterThan(10)
    expect(model.requests.map(({ previous }) => previous)).toEqual([
      'before',
      ...model.requests.slice(1).map((_, index) => `overview ${index + 1}`),
    ])
    expect(model.requests.flatMap(({ messages }) => messages.map(({ id }) => id))).toEqual(said(50, 1).map(({ id }) => id))
    for (const request of model.requests) expect(tokensOf(request)).toBeLessThanOrEqual(1000)
    const parts = model.requests.length
    expect(answer.overview).toBe(`overview ${parts}`)
    expect(answer.abstract).toBe(`part 1 … part ${parts}`)
    expect(answer.usage).toEqual({ inputTokens: 10 * parts, outputTokens: parts })
    expect(answer.memories.find(({ key }) => key === 'fact: last')).toMatchObject({ text: `part ${parts}` })
    expect(answer.memories).toHaveLength(parts + 1)
  })

  test('a message of 10 MB is shortened in the prompt, with a mark that tells how much is missing', async () => {
    const model = new Recorder(1000)
    const text = `head${'y'.repeat(10_000_000)}tail`
    await summarise(model, { previous: null, messages: [{ id: 'a', role: 'user', text, extract: true }] }, { signal, countTokens })
    const shown = model.requests[0]?.messages[0]?.text ?? ''
    expect(shown.length).toBeLessThanOrEqual(250)
    expect(shown).toMatch(/^head.*tail$/s)
    const [mark = '', left] = /\n\[… (\d+) characters left out …\]\n/.exec(shown) ?? []
    expect(Number(left)).toBe(text.length - (shown.length - mark.length))
  })

  test('a previous overview that is too long is shortened as well', async () => {
    const model = new Recorder(1000)
    await summarise(model, { previous: 'z'.repeat(100_000), messages: said(2, 100) }, { signal, countTokens })
    expect(model.requests).toHaveLength(1)
    expect(tokensOf(model.requests[0] as SummaryRequest)).toBeLessThanOrEqual(1000)
  })

  test('if the provider takes less than was thought, the parts get smaller and nothing is asked twice', async () => {
    const model = new Recorder(100_000, 700)
    await summarise(model, { previous: null, messages: said(20, 100) }, { signal, countTokens })
    expect(model.requests.flatMap(({ messages }) => messages.map(({ id }) => id))).toEqual(said(20, 1).map(({ id }) => id))
  })

  test('a provider that finds everything too long ends it', async () => {
    const model = new Recorder(100_000, -1)
    await expect(summarise(model, { previous: null, messages: said(20, 100) }, { signal })).rejects.toThrow(InputTooLong)
    expect(model.requests).toEqual([])
  })

  test('with a counter that takes every character for five tokens it still ends, within the limit', async () => {
    const model = new Recorder(1000)
    const count = (text: string): number => text.length * 5
    await summarise(model, { previous: null, messages: said(3, 5000) }, { signal, countTokens: count })
    for (const { messages } of model.requests) {
      expect(messages.reduce((sum, { text }) => sum + count(text), 0)).toBeLessThanOrEqual(1000)
    }
  })
})

describe('F19: a failure is never a summary of nothing', () => {
  const answering = (answer: unknown): Model => ({ name: 'm', inputTokens: 1000, summarise: async () => answer as never })
  const run = (answer: unknown) => summarise(answering(answer), { previous: null, messages: said(2, 10) }, { signal })
  const good = { abstract: 'a', overview: 'o', memories: [] }

  test.each([
    [undefined, 'The answer must be an object; got undefined.'],
    [null, 'The answer must be an object; got null.'],
    [{ ...good, abstract: ' ' }, 'The abstract is empty.'],
    [{ ...good, overview: '' }, 'The overview is empty.'],
    [{ ...good, overview: 5 }, 'The overview must be a text; got number.'],
    [{ ...good, memories: 'none' }, 'The memories must be an array; got string.'],
    [{ ...good, memories: [null] }, 'A memory must be an object; got null.'],
    [{ ...good, memories: [{ key: '', category: 'c', text: 't', sources: ['m0'] }] }, 'The key of a memory is empty.'],
    [{ ...good, memories: [{ key: 'k', category: 'c', text: '', sources: ['m0'] }] }, 'The text of a memory is empty.'],
    [{ ...good, memories: [{ key: 'k', category: 'c', text: 't' }] }, 'The sources of a memory must be an array; got undefined.'],
  ])('%j', async (answer, complaint) => {
    await expect(run(answer)).rejects.toThrow(complaint)
  })

  test('what the model throws comes through', async () => {
    const unavailable = new ModelUnavailable('busy', { retryAfterMs: 5 })
    const model: Model = { name: 'm', inputTokens: 1000, summarise: () => Promise.reject(unavailable) }
    await expect(summarise(model, { previous: null, messages: said(1, 1) }, { signal })).rejects.toBe(unavailable)
  })

  test('an answer is cut to its bounds, and memories of messages that must not be extracted are dropped', async () => {
    const memory = (sources: unknown[]) => ({ key: 'k'.repeat(999), category: 'fact', text: 't'.repeat(9999), sources })
    const messages = [...said(1, 1), { id: 'old', role: 'user', text: 'x', extract: false }]
    const answer = {
      abstract: `one\ntwo ${'a'.repeat(999)}`,
      overview: 'o'.repeat(99_999),
      memories: [memory(['old']), memory(['nowhere']), memory([]), ...Array.from({ length: 200 }, () => memory(['m0', 'm0', 'old', 7]))],
      usage: { inputTokens: -1, outputTokens: Number.NaN },
    }
    const checked = await summarise(answering(answer), { previous: null, messages }, { signal })
    expect(checked.abstract).toMatch(/^one two a{10,492}…$/)
    expect(checked.overview.length).toBeLessThanOrEqual(32 * 1024)
    expect(checked.memories).toHaveLength(100)
    expect(checked.memories[0]).toMatchObject({ sources: ['m0'] })
    expect(checked.memories[0]?.text?.length).toBeLessThanOrEqual(2000)
    expect(checked.usage).toBeUndefined()
  })
})

test('a signal that is aborted ends it before the next part', async () => {
  const controller = new AbortController()
  const model = new Recorder(1000)
  const aborting: Model = {
    ...model,
    name: 'm',
    inputTokens: 1000,
    summarise: (request) => {
      controller.abort(new Error('enough'))
      return model.summarise(request)
    },
  }
  await expect(
    summarise(aborting, { previous: null, messages: said(50, 200) }, { signal: controller.signal, countTokens }),
  ).rejects.toThrow('enough')
  expect(model.requests).toHaveLength(1)
})

test('an archive of which nothing can be read has a summary that says so', async () => {
  expect((await summarise(extractive, { previous: null, messages: [] }, { signal })).abstract).toBe('0 messages without text.')
})

test('nothing is cut through the middle of a character', () => {
  for (let length = 0; length < 12; length++) expect(shorten('😀😀😀😀😀😀', length).isWellFormed()).toBe(true)
})

test('a message is shown with its calls, results and files in short', () => {
  const openai = {
    role: 'assistant',
    content: 'Let me see.',
    tool_calls: [{ id: 'call 1', type: 'function', function: { name: 'search', arguments: '{"q":"tea"}' } }],
  }
  expect(promptOf({ id: 'a', message: openai }, true)).toEqual({
    id: 'a',
    role: 'assistant',
    text: 'Let me see.\n[call call_1 search {"q":"tea"}]',
    extract: true,
  })
  const anthropic = {
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: 't1', content: 'x'.repeat(10_000), is_error: true },
      { type: 'image', source: { type: 'url', url: 'https://example.org/cat.png' } },
    ],
  }
  const { role, text, extract } = promptOf({ id: 'b', message: anthropic }, false)
  expect([role, extract]).toEqual(['tool', false])
  expect(text).toMatch(/^\[file https:\/\/example.org\/cat.png\]\n\[error t1 x+\n\[… \d+ characters left out …\]\nx+\]$/)
  expect(text.length).toBeLessThan(5000)
  expect(promptOf({ id: 'c', message: { strange: true } }, false)).toEqual({ id: 'c', role: 'unknown', text: '', extract: false })
})
