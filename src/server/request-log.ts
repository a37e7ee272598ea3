/**
 * What is told of a request once it is answered: a line of the log, and its time in the metrics. Told of many together, a few times a second:
 * so the requests themselves do not wait for it, and it takes a fraction of the time. What went wrong in the server is told at once.
 */
import type { Logger } from 'pino'
import type { Metrics } from './metrics.ts'

export interface Answered {
  readonly route: { readonly path: string; readonly scope: string; readonly long?: boolean | undefined }
  readonly method: string
  readonly status: number
  readonly ms: number
  /** Of the request. */
  readonly id: string
  readonly key: string | undefined
  readonly session: string | null
}

const FLUSH_MS = 100
/** Requests that wait at most. */
const WAITING = 500

export class RequestLog {
  readonly #log: Logger
  readonly #metrics: Metrics
  #waiting: Answered[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(log: Logger, metrics: Metrics) {
    this.#log = log
    this.#metrics = metrics
  }

  tell(answered: Answered): void {
    this.#waiting.push(answered)
    if (answered.status >= 500 || this.#waiting.length >= WAITING) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref()
  }

  /** Tells what waits. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const waiting = this.#waiting
    this.#waiting = []
    for (const one of waiting) {
      if (one.route.long !== true) this.#metrics.request(one.method, one.route.path, one.status, one.ms / 1000)
      this.#write(one)
    }
  }

  #write({ route, method, status, ms, id, key, session }: Answered): void {
    const level = status >= 500 ? 'error' : route.scope === 'anyone' ? 'debug' : 'info'
    if (!this.#log.isLevelEnabled(level)) return
    this.#log[level]({ request: id, method, route: route.path, status, ms: Math.round(ms * 10) / 10, key, session }, 'request')
  }
}
