/**
 * Requests that come in the same turn of the event loop are carried out together: first all of them are read, then all are written, then all
 * are answered. A processor that does one thing many times has its code and its data at hand; going the whole way for one request after the
 * other took a fifth more time. Nobody waits for longer than what is at hand anyway.
 */
let turn: Promise<void> | undefined

/** Resolves when all that has come in this turn was looked at. */
export function endOfTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined
      resolve()
    })
  })
  return turn
}
