/** A model that takes a moment, so that its worker can be killed while it waits, and that makes one memory of every message that it may extract from. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SummaryRequest } from '../../src/commit/model.ts'
import { StubModel } from '../commit/stub-model.ts'
import type { Random } from '../simulation/random.ts'

export class SlowModel extends StubModel {
  readonly #random: Random

  constructor(random: Random) {
    super()
    this.#random = random
  }

  override async summarise(request: SummaryRequest): ReturnType<StubModel['summarise']> {
    await sleep(this.#random.int(40))
    const { abstract, memories } = await super.summarise(request)
    // What it is told of the past would otherwise grow with every commit.
    return { abstract, overview: `[${request.messages.length}]`, memories }
  }
}
