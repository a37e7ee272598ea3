/** A worker as a process of its own, with a model that takes a moment. Works until it is killed or its test is done. */
import { setTimeout } from 'node:timers/promises'
import type { SummaryRequest } from '../../../src/commit/model.ts'
import { Worker } from '../../../src/commit/worker.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { StubModel } from '../../commit/stub-model.ts'
import { SEED } from '../../long.ts'
import { Random } from '../../simulation/random.ts'
import { childOptions, testIsDone } from '../child.ts'

export interface SummariserOptions {
  readonly directory: string
  readonly leaseMs: number
}

class SlowModel extends StubModel {
  override async summarise(request: SummaryRequest): ReturnType<StubModel['summarise']> {
    await setTimeout(random.int(10))
    return super.summarise(request)
  }
}

const { directory, leaseMs } = childOptions<SummariserOptions>()
const random = new Random(SEED)
const store = await openStore(directory)
// Who is killed often must be allowed many attempts.
const worker = new Worker(store, { model: new SlowModel(), leaseMs, attempts: 1000 })
worker.start()
process.stdout.write('ready\n')
await testIsDone()
await worker.stop()
await store.close()
