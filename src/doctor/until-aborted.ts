/** Ends an iteration as soon as a signal is aborted, without waiting for the item that is being made. */
export async function* untilAborted<T>(items: AsyncGenerator<T>, signal: AbortSignal | undefined): AsyncGenerator<T> {
  if (signal === undefined) return yield* items
  let abort = (): void => undefined
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason)
  })
  aborted.catch(() => undefined)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  let isDone = false
  try {
    while (!isDone) {
      const next = await Promise.race([items.next(), aborted])
      isDone = next.done === true
      if (!next.done) yield next.value
    }
  } finally {
    signal.removeEventListener('abort', abort)
    const ended = items.return(undefined)
    // What is still running ends by itself, at its next read.
    if (signal.aborted) ended.catch(() => undefined)
    else await ended
  }
}
