/**
 * Hints, a few at a time. Under load an engine hints at every append, and whoever heeds each of them (the worker, followers) looks at the feed
 * more often than there is anything new in it; that took a sixth of a server's time. So what comes together is told together, a moment later.
 */
import type { Engine } from '../engine/port.ts'

const MOMENT_MS = 15

/** The same engine, in place: whatever else it can stays as it is. */
export function calm(engine: Engine): Engine {
  const watch = engine.watch.bind(engine)
  engine.watch = (hint) => {
    let soon: NodeJS.Timeout | undefined
    const stop = watch(() => {
      soon ??= setTimeout(() => {
        soon = undefined
        hint()
      }, MOMENT_MS)
    })
    return () => {
      clearTimeout(soon)
      stop()
    }
  }
  return engine
}
