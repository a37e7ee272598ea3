/** A model for tests. It imports no test runner: programs that tests start may have few descriptors to load their modules with. */
import type { Model, SummaryAnswer, SummaryRequest } from '../../src/commit/model.ts'

export interface Asked extends SummaryRequest {
  readonly answer: (answer?: Partial<SummaryAnswer>) => void
  readonly fail: (error: unknown) => void
}

/** A model that answers at once and notes what it was asked, or hands each request to the test. */
export class StubModel implements Model {
  readonly name = 'stub'
  readonly inputTokens: number
  readonly requests: SummaryRequest[] = []
  readonly #manual: ((asked: Asked) => void) | undefined

  constructor({ inputTokens = 100_000, manual }: { inputTokens?: number; manual?: (asked: Asked) => void } = {}) {
    this.inputTokens = inputTokens
    this.#manual = manual
  }

  summarise(request: SummaryRequest): Promise<SummaryAnswer> {
    this.requests.push(request)
    if (this.#manual === undefined) return Promise.resolve(answerTo(request))
    return new Promise((resolve, reject) => {
      this.#manual?.({ ...request, answer: (answer = {}) => resolve({ ...answerTo(request), ...answer }), fail: reject })
    })
  }

  /** Ids of all messages that it was allowed to extract from. */
  get extracted(): string[] {
    return this.requests.flatMap(({ messages }) => messages.filter(({ extract }) => extract).map(({ id }) => id))
  }
}

/** Tells what it was given, so that a test can see it in the result. */
function answerTo({ previous, messages }: SummaryRequest): SummaryAnswer {
  const ids = messages.map(({ id }) => id).join(' ')
  const sources = messages.filter(({ extract }) => extract).map(({ id }) => id)
  return {
    abstract: `about ${messages.length}`,
    overview: `${previous ?? ''}[${ids}]`,
    memories: sources.map((id) => ({ key: `of ${id}`, category: 'fact', text: `from ${id}`, sources: [id] })),
  }
}
