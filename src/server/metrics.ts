/** What can be counted, for Prometheus: requests by route, what the engine does, the worker, followers. Names are `holdfast_…`. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { WorkerStatus } from '../commit/worker.ts'
import type { Stats } from '../store/stats.ts'
import type { GroupWrite, WriteObserver } from './metered-engine.ts'

/** What is looked at when somebody asks. */
export interface Readings {
  readonly inFlight: () => number
  readonly followers: () => number
  readonly waiting: () => number
  readonly heldBytes: () => number
  readonly worker: () => WorkerStatus | undefined
  /** Of the server's own space; undefined if it cannot be told just now. */
  readonly stats: () => Promise<Pick<Stats, 'sessions' | 'tasks'> | undefined>
}

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const RECORDS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]

/** Writes that are counted together. */
const WRITES = 500

type Observe = { observe(value: number): void }

let processMetrics: Registry | undefined

/** Metrics of the process, once: their observers run until it ends, and would keep each server in memory that was stopped. */
function ofProcess(): Registry {
  if (processMetrics === undefined) {
    processMetrics = new Registry()
    collectDefaultMetrics({ register: processMetrics })
  }
  return processMetrics
}

export class Metrics implements WriteObserver {
  readonly registry = new Registry()
  readonly messages: Counter
  readonly damaged: Counter
  readonly #requests: Histogram
  readonly #byRequest = new Map<string, Observe>()
  readonly #refusals: Counter
  readonly #syncs: Histogram
  readonly #records: Histogram
  readonly #bytes: Counter
  readonly #failures: Counter
  #lastWrite = 'ok'
  #writes: GroupWrite[] = []

  constructor() {
    // From now on, and not from the first question on.
    ofProcess()
    const registers = [this.registry]
    this.#requests = new Histogram({
      name: 'holdfast_request_seconds',
      help: 'How long requests took.',
      labelNames: ['method', 'route', 'status'],
      buckets: SECONDS,
      registers,
    })
    this.messages = new Counter({ name: 'holdfast_appended_messages_total', help: 'Messages appended over HTTP.', registers })
    this.damaged = new Counter({ name: 'holdfast_damage_seen_total', help: 'Answers about sessions in which damage was found.', registers })
    this.#refusals = new Counter({
      name: 'holdfast_quota_refusals_total',
      help: 'What was refused because a quota was used up, by limit and by whose it is.',
      labelNames: ['limit', 'of'],
      registers,
    })
    this.#syncs = new Histogram({
      name: 'holdfast_journal_sync_seconds',
      help: 'How long it took to write a group of records and have it on the disk.',
      buckets: SECONDS,
      registers,
    })
    this.#records = new Histogram({
      name: 'holdfast_journal_group_records',
      help: 'How many records went to the disk together.',
      buckets: RECORDS,
      registers,
    })
    this.#bytes = new Counter({ name: 'holdfast_journal_bytes_total', help: 'Bytes written to journals.', registers })
    this.#failures = new Counter({
      name: 'holdfast_journal_failures_total',
      help: 'Writes that failed, by code.',
      labelNames: ['code'],
      registers,
    })
  }

  /** What there is to tell, as Prometheus reads it. */
  async text(): Promise<string> {
    this.#countWrites()
    return `${await ofProcess().metrics()}\n${await this.registry.metrics()}`
  }

  /** What came of the last write to the disk: `ok`, or the code of what went wrong. */
  get disk(): string {
    return this.#lastWrite
  }

  request(method: string, route: string, status: number, seconds: number): void {
    const name = `${method} ${route} ${status}`
    let of = this.#byRequest.get(name)
    if (of === undefined) {
      of = this.#requests.labels({ method, route, status: String(status) })
      this.#byRequest.set(name, of)
    }
    of.observe(seconds)
  }

  /** Something was refused because a quota was used up. */
  quotaRefused(limit: string, of: 'space' | 'key'): void {
    this.#refusals.inc({ limit, of })
  }

  /** Gauges are read when they are asked for. */
  read({ inFlight, followers, waiting, heldBytes, worker, stats }: Readings): void {
    this.#gauge('holdfast_requests_in_flight', 'Requests under way.', inFlight)
    this.#gauge('holdfast_requests_waiting', 'Requests that wait for others of their key.', waiting)
    this.#gauge('holdfast_held_bytes', 'Bytes of bodies and answers that requests in progress hold in memory.', heldBytes)
    this.#gauge('holdfast_followers', 'Open streams of events.', followers)
    this.#gauge('holdfast_worker_running', 'Tasks that this worker has begun.', () => worker()?.running ?? 0)
    this.#gauge('holdfast_worker_queue', 'Tasks and sessions that wait for this worker.', () => worker()?.waiting ?? 0)
    this.#gauge('holdfast_worker_breaker_open', 'Whether the model is out of service.', () =>
      worker()?.breaker.state === 'closed' || worker() === undefined ? 0 : 1,
    )
    const sessions: Gauge = new Gauge({
      name: 'holdfast_sessions',
      help: 'Sessions of the server’s own space, by status: ok, damaged, unreadable, deleted.',
      labelNames: ['status'],
      registers: [this.registry],
      collect: async () => {
        const told = await stats()
        for (const [status, count] of Object.entries(told?.sessions ?? {})) sessions.set({ status }, count)
        for (const [status, count] of Object.entries(told?.tasks ?? {})) states.set({ status }, count)
      },
    })
    const states: Gauge = new Gauge({
      name: 'holdfast_tasks',
      help: 'Tasks of the server’s own space, by status.',
      labelNames: ['status'],
      registers: [this.registry],
    })
    const tasks: Gauge = new Gauge({
      name: 'holdfast_worker_tasks',
      help: 'Tasks that this worker ended since it began, by how.',
      labelNames: ['status'],
      registers: [this.registry],
      collect: () => {
        tasks.set({ status: 'completed' }, worker()?.completed ?? 0)
        tasks.set({ status: 'failed' }, worker()?.failed ?? 0)
      },
    })
  }

  /** Counted with others: one by one it takes a caller's time. */
  wrote(write: GroupWrite): void {
    this.#writes.push(write)
    if (this.#writes.length >= WRITES) this.#countWrites()
  }

  ended(failure: string | undefined): void {
    this.#lastWrite = failure ?? 'ok'
    if (failure !== undefined) this.#failures.inc({ code: failure })
  }

  #countWrites(): void {
    for (const { seconds, records, bytes } of this.#writes) {
      this.#syncs.observe(seconds)
      this.#records.observe(records)
      this.#bytes.inc(bytes)
    }
    this.#writes = []
  }

  #gauge(name: string, help: string, value: () => number): void {
    const gauge: Gauge = new Gauge({ name, help, registers: [this.registry], collect: () => gauge.set(value()) })
  }
}
