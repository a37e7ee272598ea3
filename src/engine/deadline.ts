/** A bound of time on work that may take longer. */

/** Work that failed because its time was over. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed'
}

/**
 * Does `work` with a signal that aborts with `outer`, or after `ms`; what then fails is a DeadlinePassed, whatever the work says.
 *
 * Not AbortSignal.any of AbortSignal.timeout: nothing holds the timeout there but its observers, so that Node may collect it before
 * it ends, and the work then lasts for ever (nodejs/node#57736).
 */
export async function withDeadline<T>(ms: number, outer: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const { signal } = controller
  const abort = (): void => controller.abort(outer.reason)
  const timer = setTimeout(() => controller.abort(new DeadlinePassed(`It took longer than ${ms} ms.`)), ms)
  outer.addEventListener('abort', abort)
  try {
    if (outer.aborted) abort()
    return await work(signal)
  } catch (error) {
    throw signal.reason instanceof DeadlinePassed ? signal.reason : error
  } finally {
    clearTimeout(timer)
    outer.removeEventListener('abort', abort)
  }
}
