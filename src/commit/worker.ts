/**
 * The worker: makes the summaries that commits asked for. Any number of them may run, in any number of processes. A task is held by a
 * lease, which is a record and is renewed by records; a worker that dies is noticed when its lease runs out, counted on the watcher's own
 * clock from when it first saw the last renewal. Whatever a worker does, the first `commit.finished` counts.
 *
 * If the process dies: before the lease, nothing happened; with the lease, another worker takes the task when it runs out, and one attempt
 * was spent; after the finish, the task is completed.
 */
import { HoldfastError } from '../errors.ts'
import * as archives from '../session/archives.ts'
import type { CommitFailed, CommitLeased } from '../session/records.ts'
import type { Archive } from '../session/state.ts'
import { Handle } from '../store/handle.ts'
import type { StoreParts } from '../store/parts.ts'
import type { Store } from '../store/store.ts'
import { taskId } from '../store/tasks.ts'
import { Waiter } from '../store/waiter.ts'
import { Breaker, type BreakerStatus } from './breaker.ts'
import { type Due, DueWork } from './due-work.ts'
import { type Model, ModelUnavailable } from './model.ts'
import { extractive } from './models/extractive.ts'
import { summaryOf } from './summary.ts'

export interface WorkerOptions {
  /** What summarises; an extractive one that needs no network unless told. */
  readonly model?: Model
  /** How many tasks at once; 8 unless told. */
  readonly concurrency?: number
  /** How long a task is held without a sign of life; 30 seconds unless told. */
  readonly leaseMs?: number
  /** How long one attempt may take; 10 minutes unless told. */
  readonly attemptMs?: number
  /** How many attempts a task gets before it is given up; 5 unless told. */
  readonly attempts?: number
  /** Only the tasks of this session, in the store's own space; else those of every session of every space. */
  readonly session?: string
  /** How long it rests after each look at what has changed, unless it is woken; not at all unless told. */
  readonly restMs?: number
  /** Is told of each attempt that came to an end; not of one that another worker took over. */
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

/** A reason at hand: without one, an error is made each time, with its trace. */
const OVER = 'The attempt is over.'

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
  #waiter: Waiter | undefined
  /** Ends its rest. */
  #awake = new AbortController()
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
    this.#parts = store.parts
    this.#onAttempt = onAttempt
    this.#model = model
    this.#options = { concurrency, leaseMs, attemptMs, attempts, restMs }
    const { ids, clock, engine, space } = this.#parts
    this.#name = ids.next(clock.now())
    this.#due = new DueWork(this.#parts, session === undefined ? undefined : engine.name(space, session))
    this.#breaker = new Breaker(this.#parts)
  }

  get status(): WorkerStatus {
    const running = this.#running.size
    return { running, waiting: this.#due.size - running, completed: this.#completed, failed: this.#failed, breaker: this.#breaker.status }
  }

  /** Works in the background until it is stopped, or until the store is closed. What is wrong with the store meanwhile is tried again. */
  start(): void {
    this.#loop ??= this.#run(() => false)
    // Whoever stops it, or runs it, is told.
    this.#loop.catch(() => undefined)
  }

  /** Works until it is stopped. Rejects if the store is closed, or cannot be used at all. */
  async run(): Promise<void> {
    this.start()
    await this.#loop
  }

  /** Works until nothing is due any more, also nothing that waits for another attempt or that another worker holds; or until it is stopped. */
  async drain(): Promise<void> {
    const draining = this.#run(() => this.#due.size === 0 && this.#running.size === 0)
    this.#loop ??= draining
    try {
      await draining
    } finally {
      if (this.#loop === draining) this.#loop = undefined
    }
  }

  /** Looks at once at what has changed. */
  wake(): void {
    this.#awake.abort()
    this.#waiter?.wake()
  }

  /** Lets go of what it holds, so that others can take it at once. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.wake()
    await this.#loop
    await Promise.all(this.#running.values())
  }

  async #run(isDone: () => boolean): Promise<void> {
    const { engine, clock } = this.#parts
    const waiter = new Waiter(engine, clock, this.#stopping.signal)
    this.#waiter = waiter
    try {
      while (!waiter.ended) {
        if (await this.#noticed()) {
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

  /** False if the store could not tell what has changed, this time. */
  async #noticed(): Promise<boolean> {
    try {
      // Those that run are among the ready ones; as many again can begin at once when they end.
      await this.#due.notice(this.#running.size + 2 * this.#options.concurrency)
      return true
    } catch (error) {
      if (error instanceof HoldfastError && error.retryable) return false
      throw error
    }
  }

  #startWhatIsDue(): void {
    for (const due of this.#due.ready()) {
      if (this.#running.size >= this.#options.concurrency || !this.#breaker.mayPass(this.#running.size)) return
      if (this.#running.has(due.name)) continue
      const work = this.#perform(due).finally(() => {
        this.#running.delete(due.name)
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
      // Unless somebody else has the task, or it has ended, or the session is gone, the store itself fails: the task stays as it is.
      if (!(error instanceof HoldfastError) || (error.code !== 'CONFLICT' && error.code !== 'NOT_FOUND')) return this.#due.postpone(due)
    }
    await this.#due.settle(due)
    if (status !== undefined) this.#onAttempt?.({ space: due.space, task: taskId(due.session, due.archive.task), status })
  }

  async #attempt(handle: Handle, { archive, leaseAt }: Due): Promise<Attempt['status']> {
    const { attempts: most, leaseMs, attemptMs } = this.#options
    const attempts = archive.attempts + 1
    const leased = { archive: archive.number, attempts, worker: this.#name, ms: leaseMs }
    await handle.submit({}, () => archives.lease(archive.task, leased, leaseAt))
    if (attempts > most) return this.#fail(handle, archive, { attempts: most, error: gaveUp(most), again: false, waitMs: 0 })

    const over = new AbortController()
    const signal = AbortSignal.any([this.#stopping.signal, over.signal])
    const renewal = this.#renew(handle, archive.task, leased, over)
    const deadline = this.#abortAfter(attemptMs, over)
    try {
      const finished = await orAborted(signal, summaryOf(handle, archive, this.#model, signal))
      await handle.submit({}, () => archives.finish({ ...finished, attempts, task: archive.task }, archive.erased))
      this.#breaker.succeeded()
      this.#completed++
      return 'completed'
    } catch (error) {
      if (error instanceof HoldfastError) throw error
      return await this.#fail(handle, archive, this.#outcomeOf(error, archive, over.signal.aborted))
    } finally {
      over.abort(OVER)
      await Promise.all([renewal, deadline])
    }
  }

  /** What a failed attempt comes to. One that was given back, or that met a provider out of service, was not spent. */
  #outcomeOf(error: unknown, { attempts: before }: Archive, late: boolean): Omit<CommitFailed, 'archive'> {
    const { attempts: most, attemptMs } = this.#options
    const message = error instanceof Error ? error.message : String(error)
    if (this.#stopping.signal.aborted)
      return { attempts: before, error: { code: 'STOPPED', message: 'The worker was stopped.' }, again: true, waitMs: 0 }
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

  /** Shows that it lives, until the attempt is over; if the lease is lost, so is the attempt. */
  async #renew(handle: Handle, task: string, leased: CommitLeased, over: AbortController): Promise<void> {
    for (;;) {
      await this.#parts.clock.sleep(leased.ms / 3, over.signal)
      if (over.signal.aborted) return
      try {
        await handle.submit({}, () => archives.lease(task, leased, null))
      } catch (error) {
        if (error instanceof HoldfastError && error.retryable) continue
        over.abort()
        return
      }
    }
  }

  async #abortAfter(ms: number, over: AbortController): Promise<void> {
    await this.#parts.clock.sleep(ms, over.signal)
    over.abort()
  }
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
