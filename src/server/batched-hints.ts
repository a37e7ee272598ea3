/**
 * An engine that passes on hints in batches. Under load an engine hints at every append, and the worker and the followers look at the feed
 * more often than it has anything new. That took a sixth of a server's time.
 */
import { EngineWrapper } from '../engine/engine-wrapper.ts'

const BATCH_MS = 15

export class BatchedHints extends EngineWrapper {
  override watch(hint: () => void): () => void {
    let soon: NodeJS.Timeout | undefined
    const stop = this.inner.watch(() => {
      soon ??= setTimeout(() => {
        soon = undefined
        hint()
      }, BATCH_MS)
    })
    return () => {
      clearTimeout(soon)
      stop()
    }
  }
}
