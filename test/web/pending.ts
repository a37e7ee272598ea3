/** Questions to a fake server. The test answers each one when it wants, so that answers can arrive late and in another order. */
export interface Question<Asked, Answer> {
  readonly asked: Asked
  readonly answer: (value: Answer) => Promise<void>
  readonly fail: (error: unknown) => Promise<void>
}

export class Questions<Asked, Answer> {
  readonly all: Question<Asked, Answer>[] = []

  ask = (asked: Asked): Promise<Answer> => {
    return new Promise<Answer>((resolve, reject) => {
      this.all.push({
        asked,
        answer: (value) => {
          resolve(value)
          return settled()
        },
        fail: (error) => {
          reject(error)
          return settled()
        },
      })
    })
  }

  get count(): number {
    return this.all.length
  }

  get last(): Question<Asked, Answer> {
    const last = this.all.at(-1)
    if (last === undefined) throw new Error('Nothing was asked.')
    return last
  }

  at(index: number): Question<Asked, Answer> {
    const question = this.all.at(index)
    if (question === undefined) throw new Error(`Only ${this.count} questions were asked.`)
    return question
  }
}

/** Resolves when everything that waits for a settled promise has run. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}

/** A stream of changes that the test feeds. */
export class Feed<T> implements AsyncIterable<T> {
  #waiting: (() => void) | undefined
  readonly #items: T[] = []
  #isOver = false

  async send(item: T): Promise<void> {
    this.#items.push(item)
    this.#waiting?.()
    await settled()
  }

  async end(): Promise<void> {
    this.#isOver = true
    this.#waiting?.()
    await settled()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      while (this.#items.length > 0) yield this.#items.shift() as T
      if (this.#isOver) return
      await new Promise<void>((resolve) => {
        this.#waiting = resolve
      })
    }
  }
}
