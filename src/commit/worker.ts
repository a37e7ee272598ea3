/**
 * The worker: makes the summaries that commits asked for. Any number of them may run, in any number of processes. A task is held by a
 * lease, which is a record and is renewed by records; a worker that dies is noticed when its lease runs out, counted on the watcher's own
 * clock from when it first saw the last renewal. Whatever a worker does, the first `commit.finished` counts.
 *
 * If the process dies: before the lease, nothing happened; with the lease, another worker takes the task when it runs out, and one attempt
 * was spent; after the finish, the task is completed.
 */

import { ChangeWaiter } from '../engine/change-waiter.ts'
import { HoldfastError } from '../errors.ts'
import * as archives from '../session/decide-commit.ts'
import type { CommitFailed } from '../session/records.ts'
import type { Archive } from '../session/state.ts'
import { Handle } from '../store/handle.ts'
import type { StoreParts } from '../store/parts.ts'
import { partsOf, type Store } from '../store/store.ts'
import { taskId } from '../store/tasks.ts'
import { summaryOf } from './archive-summary.ts'
import { Breaker, type BreakerStatus } from './breaker.ts'
import { type Due, DueWork } from './due-work.ts'
import { Leases } from './leases.ts'
import { type Model, ModelUnavailable } from './model.ts'
import { extractive } from './models/extractive.ts'

export interface WorkerOptions {
  /** The model that summarises. Defaults to `extractive`, which needs no network. */
  readonly model?: Model
  /** The largest number of tasks at once. Defaults to 8. */
  readonly concurrency?: number
  /** How long a lease lasts without a renewal. Defaults to 30,000. */
  readonly leaseMs?: number
  /** How long one attempt may take. Defaults to 600,000. */
  readonly attemptMs?: number
  /** The number of attempts after which a task has failed. Defaults to 5. */
  readonly attempts?: number
  /** Only tasks of this session, in the space of the store. Defaults to all sessions of all spaces. */
  readonly session?: string
  /** How long to wait between two looks for due tasks. `wake` ends the wait. Defaults to 0. */
  readonly restMs?: number
  /** Called after each attempt, except one that another worker took over. */
  readonly onAttempt?: (attempt: Attempt) => void
}

/** An attempt that is over, and what has become of its task: `pending` if it is tried again. */
export interface Attempt {
  readonly space: string
  readonly task: string
  readonly status: 'completed' | 'failed' | 'pending'
}

export interface WorkerStatus {
  readonly running: number
  readonly waiting: number
  readonly completed: number
  readonly failed: number
  readonly breaker: BreakerStatus
}

/** With enough to do, it looks at most this often at what has changed. */
const NOTICE_MS = 100

/** Reasons at hand: without one, an error is made each time, with its trace. */
const STOPPED = 'The worker was stopped.'
const WOKEN = 'There is something to do.'

/**
 * Makes the summaries of archives. Several workers, in several processes, share the work.
 *
 * @example
 * const worker = new Worker(store, { model: extractive })
 * worker.start()
 * await worker.stop()
 */
export class Worker {
  readonly #parts: StoreParts
  readonly #model: Model
  readonly #options: Required<Pick<WorkerOptions, 'concurrency' | 'leaseMs' | 'attemptMs' | 'attempts' | 'restMs'>>
  readonly #onAttempt: WorkerOptions['onAttempt']
  readonly #name: string
  readonly #due: DueWork
  readonly #breaker: Breaker
  readonly #running = new Map<string, Promise<void>>()
  readonly #stopping = new AbortController()
  #loop: Promise<void> | undefined
  #waiter: ChangeWaiter | undefined
  readonly #holds: Leases
  /** Ends its rest. */
  #awake = new AbortController()
  /** When it was last looked what has changed. */
  #noticedMs = Number.NEGATIVE_INFINITY
  #completed = 0
  #failed = 0

  constructor(
    store: Store,
    {
      model = extractive,
      concurrency = 8,
      leaseMs = 30_000,
      attemptMs = 600_000,
      attempts = 5,
      restMs = 0,
      session,
      onAttempt,
    }: WorkerOptions = {},
  ) {
    this.#parts = partsOf(store)
    this.#onAttempt = onAttempt
    this.#model = model
    this.#options = { concurrency, leaseMs, attemptMs, attempts, restMs }
    const { ids, clock, engine, space } = this.#parts
    this.#name = ids.next(clock.now())
    this.#due = new DueWork(this.#parts, session === undefined ? undefined : engine.name(space, session))
    this.#breaker = new Breaker(this.#parts)
    this.#holds = new Leases({ clock, leaseMs, attemptMs })
  }

  /**
   * How many tasks run, wait, were completed and failed, and whether the model is paused.
   */
  get status(): WorkerStatus {
    const running = this.#running.size
    return { running, waiting: this.#due.size - running, completed: this.#completed, failed: this.#failed, breaker: this.#breaker.status }
  }

  /**
   * Works in the background until it is stopped or the store is closed. It tries again if the store fails.
   *
   * @example
   * const worker = new Worker(store)
   * worker.start()
   */
  start(): void {
    this.#loop ??= this.#run(() => false)
    // Whoever stops it, or runs it, is told.
    this.#loop.catch(() => undefined)
  }

  /**
   * Works until it is stopped.
   *
   * @throws HoldfastError CLOSED when the store is closed.
   * @example
   * const worker = new Worker(store)
   * process.once('SIGTERM', () => worker.stop())
   * await worker.run()
   */
  async run(): Promise<void> {
    this.start()
    await this.#loop
  }

  /**
   * Works until no task is due, waits for another attempt, or is held by another worker.
   *
   * @throws HoldfastError CLOSED when the store is closed.
   * @example
   * await new Worker(store).drain()
   */
  async drain(): Promise<void> {
    const draining = this.#run(() => this.#due.isEmpty && this.#running.size === 0)
    this.#loop ??= draining
    try {
      await draining
    } finally {
      if (this.#loop === draining) this.#loop = undefined
    }
  }

  /**
   * Looks for due tasks at once, instead of after `restMs`.
   *
   * @example
   * const worker = new Worker(store, { restMs: 1000 })
   * worker.start()
   * worker.wake()
   */
  wake(): void {
    if (this.#options.restMs > 0) this.#awake.abort(WOKEN)
    this.#waiter?.wake()
  }

  /**
   * Stops, and releases the tasks that it holds, so that other workers can take them at once.
   *
   * @throws HoldfastError CLOSED when the store was closed before.
   * @example
   * const worker = new Worker(store)
   * worker.start()
   * await worker.stop()
   */
  async stop(): Promise<void> {
    this.#stopping.abort(STOPPED)
    this.#holds.stop()
    this.wake()
    await this.#loop
    await Promise.all(this.#running.values())
  }

  async #run(isDone: () => boolean): Promise<void> {
    const { engine, clock } = this.#parts
    const waiter = new ChangeWaiter(engine, clock, this.#stopping.signal)
    this.#waiter = waiter
    try {
      while (!waiter.ended) {
        if (this.#hasPlenty() || (await this.#noticed())) {
          this.#startWhatIsDue()
          if (isDone()) return
        }
        // A store that changes all the time is not looked at all the time.
        if (this.#options.restMs > 0) await clock.sleep(this.#options.restMs, this.#awake.signal)
        await waiter.wait(this.#due.nextMs())
        if (this.#awake.signal.aborted) this.#awake = new AbortController()
      }
    } finally {
      waiter.close()
    }
  }

  /** While there is more to begin than can be, it is not looked all the time whether there is even more. */
  #hasPlenty(): boolean {
    const { clock } = this.#parts
    return clock.monotonicMs() < this.#noticedMs + NOTICE_MS && this.#due.ready().length >= this.#options.concurrency
  }

  /** False if the store could not tell what has changed, this time. */
  async #noticed(): Promise<boolean> {
    try {
      this.#noticedMs = this.#parts.clock.monotonicMs()
      // As many again as may run can begin at once when those end.
      await this.#due.notice(2 * this.#options.concurrency)
      return true
    } catch (error) {
      if (error instanceof HoldfastError && error.retryable) return false
      throw error
    }
  }

  #startWhatIsDue(): void {
    for (const due of this.#due.ready()) {
      if (this.#running.size >= this.#options.concurrency || !this.#breaker.mayPass(this.#running.size)) return
      this.#due.begin(due)
      const work = this.#perform(due).finally(() => {
        this.#running.delete(due.name)
        if (this.#running.size === 0 && this.#due.ready().length === 0) this.#holds.rest()
        this.wake()
      })
      this.#running.set(due.name, work)
    }
  }

  async #perform(due: Due): Promise<void> {
    const handle = new Handle({ ...this.#parts, space: due.space }, due.session)
    let status: Attempt['status'] | undefined
    try {
      status = await this.#attempt(handle, due)
    } catch (error) {
      // Another worker has the task, or it has ended, or the session was deleted. Anything else fails for a reason of the store: the task stays as it is.
      const isSettled = error instanceof HoldfastError && (error.code === 'CONFLICT' || error.code === 'NOT_FOUND')
      if (!isSettled) return isLasting(error) ? this.#due.setAside(due) : this.#due.postpone(due)
    }
    await this.#due.settle(due)
    if (status !== undefined) this.#onAttempt?.({ space: due.space, task: taskId(due.session, due.archive.task), status })
  }

  async #attempt(handle: Handle, { archive, leaseAt, loaded }: Due): Promise<Attempt['status']> {
    const { attempts: most, leaseMs } = this.#options
    const attempts = archive.attempts + 1
    const leased = { archive: archive.number, attempts, worker: this.#name, ms: leaseMs }
    const { before } = await handle.submit({}, () => archives.lease(archive.task, leased, leaseAt))
    if (attempts > most) return this.#fail(handle, archive, { attempts: most, error: gaveUp(most), again: false, waitMs: 0 })

    const hold = this.#holds.hold(() => handle.submit({}, () => archives.lease(archive.task, leased, null)))
    try {
      // Somebody has died while erasing: what was to be erased is shown to no model.
      const state = before.erasing.length === 0 ? before : await handle.liveState()
      const work = summaryOf(handle, { state, archive, loaded }, this.#model, hold.signal)
      const finished = await orAborted(hold.signal, work)
      hold.release()
      await handle.submit({}, () => archives.finish({ ...finished, attempts, task: archive.task }, archive.erased))
      this.#breaker.succeeded()
      this.#completed++
      return 'completed'
    } catch (error) {
      if (error instanceof HoldfastError) throw error
      // From here on it is not renewed: a task that was given back must not be held again.
      hold.release()
      return await this.#fail(handle, archive, this.#outcomeOf(error, archive, hold.late))
    } finally {
      hold.release()
    }
  }

  /** What a failed attempt comes to. One that was given back, or that met a provider out of service, was not spent. */
  #outcomeOf(error: unknown, { attempts: before }: Archive, late: boolean): Omit<CommitFailed, 'archive'> {
    const { attempts: most, attemptMs } = this.#options
    const message = error instanceof Error ? error.message : String(error)
    if (this.#stopping.signal.aborted) return { attempts: before, error: { code: 'STOPPED', message: STOPPED }, again: true, waitMs: 0 }
    if (error instanceof ModelUnavailable) {
      this.#breaker.failed(error.retryAfterMs)
      return { attempts: before, error: { code: 'UNAVAILABLE', message }, again: true, waitMs: 0 }
    }
    this.#breaker.succeeded()
    const attempts = before + 1
    const code = late ? 'DEADLINE_EXCEEDED' : 'MODEL_FAILED'
    const what = late ? `The attempt took longer than ${attemptMs} ms.` : message
    if (attempts >= most) return { attempts, error: { code, message: what }, again: false, waitMs: 0 }
    return {
      attempts,
      error: { code, message: what },
      again: true,
      waitMs: Math.round(backOffMs(attempts) * (0.5 + this.#parts.ids.random())),
    }
  }

  async #fail(handle: Handle, archive: Archive, outcome: Omit<CommitFailed, 'archive'>): Promise<Attempt['status']> {
    if (!outcome.again) this.#failed++
    await handle.submit({}, () => archives.fail(archive.task, { archive: archive.number, ...outcome }, this.#name))
    return outcome.again ? 'pending' : 'failed'
  }
}

/** Whether the next attempt fails too unless an operator repairs the session, such as one whose bytes have vanished. */
function isLasting(error: unknown): boolean {
  return error instanceof HoldfastError && !error.retryable && error.code !== 'CLOSED'
}

/** A model that does not heed the signal must not hold up the worker. */
function orAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new Error('It was given up.'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

function backOffMs(attempts: number): number {
  return Math.min(1000 * 2 ** (attempts - 1), 60_000)
}

function gaveUp(attempts: number): CommitFailed['error'] {
  return { code: 'GAVE_UP', message: `It was begun ${attempts} times, and no worker came to an end with it.` }
}
