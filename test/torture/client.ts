/**
 * One client of a tortured store, as a process of its own: it makes calls that a seed decides, writes down each and its answer, and repeats what it is
 * not sure of under the same key, until somebody tells. When it is killed, its next life goes on with what was open.
 */
import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../../src/client/index.ts'
import { Worker } from '../../src/commit/worker.ts'
import { systemClock } from '../../src/engine/clock.ts'
import { HoldfastError } from '../../src/errors.ts'
import { openStore } from '../../src/store/open-store.ts'
import { Random } from '../simulation/random.ts'
import { copyAndVerify } from './copying.ts'
import { follow } from './following.ts'
import { type Answer, HistoryFile, nowUs, type Wish } from './history.ts'
import { keep } from './keeper.ts'
import { doctorOf, importWish, type Opened } from './looking.ts'
import { generationAt, sessionsOf } from './sessions.ts'
import { SlowModel } from './slow-model.ts'
import { perform, wish } from './wishes.ts'

export type Role =
  | 'writer'
  | 'remote writer'
  | 'follower'
  | 'remote follower'
  | 'lister'
  | 'importer'
  | 'doctor'
  | 'worker'
  | 'keeper'
  | 'remote keeper'
  | 'copier'

export interface ClientOptions {
  readonly name: string
  readonly role: Role
  readonly seed: number
  /** When the run began, in microseconds of the shared clock. */
  readonly begun: number
  /** The store itself. */
  readonly store: string
  /** The servers on it. */
  readonly servers: readonly string[]
  readonly history: string
  /** How wrong its clock is. */
  readonly skewMs: number
  readonly leaseMs: number
  /** How many descriptors it may have. Undefined: as many as the driver. */
  readonly descriptors?: number | undefined
  /** Where the driver writes down what it harms. */
  readonly harms: string
  /** Where the files of the store are, also while it is unmounted; empty if it has none. */
  readonly copied: string
  /** Where copies of the store are made. */
  readonly copies: string
}

/** Small, so that segments fill up often. */
const SEGMENT_BYTES = 32_768
const ROUND_MS = 20
/** Between two copies of the store. */
const COPY_MS = 3000
/** How many generations of sessions of a copy are compared with what clients were told. */
const COMPARED = 3

export async function runClient(options: ClientOptions, done: Promise<void>): Promise<void> {
  const { name, role, store: address, servers, skewMs, descriptors } = options
  if (descriptors !== undefined) limitDescriptors(descriptors)
  const random = new Random(options.seed)
  const over = new AbortController()
  void done.then(() => over.abort())
  const clock = { ...systemClock, now: () => systemClock.now() + skewMs }
  const local = role.startsWith('remote')
    ? undefined
    : await untilOpen(() => openStore(address, { clock, limits: { segmentBytes: SEGMENT_BYTES } }))
  // One request, one attempt: what is repeated is repeated here, and written down.
  const remotes = servers.map((url) => connect(url, { retries: 0, timeoutMs: 15_000 }))
  const opened: Opened = { local, any: () => local ?? random.pick(remotes) }
  const history = new HistoryFile(options.history, name)
  process.stdout.write('ready\n')

  if (role === 'worker' && local !== undefined) {
    const worker = new Worker(local, { model: new SlowModel(random), leaseMs: options.leaseMs, attempts: 10_000 })
    worker.start()
    await done
    await worker.stop()
  } else if (role.endsWith('follower')) {
    await follow(opened, history, options.begun, over.signal)
  } else {
    const client = new Client(opened, history, random, options)
    await client.goOn()
    if (role.endsWith('keeper'))
      await keep({ harms: options.harms, ask: (made) => client.ask(made), earlier: history.earlier, over: over.signal })
    while (!over.signal.aborted) {
      await client.ask(wish(role, random, `${name.replaceAll('-', 'x')}n${client.calls}`, options.begun))
      // The doctor reads every byte.
      if (role === 'copier') await sleep(COPY_MS, undefined, { signal: over.signal }).catch(() => undefined)
      else if (role === 'doctor') await sleep(random.int(200 * ROUND_MS))
      else if (role === 'lister' || role === 'importer') await sleep(random.int(10 * ROUND_MS))
      else if (random.chance(0.2)) await sleep(random.int(ROUND_MS))
    }
  }
  history.close()
  await local?.close()
}

/** Not before its modules are loaded: Node opens the files of many modules at once, and ends if it gets no descriptor for one. */
function limitDescriptors(descriptors: number): void {
  const { error, status, stderr } = spawnSync('prlimit', ['--pid', String(process.pid), `--nofile=${descriptors}:${descriptors}`])
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`prlimit ended with ${status}: ${stderr.toString()}`)
}

/** A store may be out of reach when a client begins: whoever runs one starts it again. */
async function untilOpen<T>(open: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error
      await sleep(100)
    }
  }
}

class Client {
  readonly #opened: Opened
  readonly #history: HistoryFile
  readonly #random: Random
  readonly #options: ClientOptions
  calls = 0

  constructor(opened: Opened, history: HistoryFile, random: Random, options: ClientOptions) {
    this.#opened = opened
    this.#history = history
    this.#random = random
    this.#options = options
    this.calls = history.calls
  }

  /** What the last life had begun and not been told the end of. Looks are not repeated: nobody heard their answer. */
  async goOn(): Promise<void> {
    for (const call of this.#history.open) {
      if (isLook(call)) continue
      await this.#until(call.number, call, true)
    }
  }

  async ask(made: Wish | ((store: ReturnType<Opened['any']>) => Promise<Wish | undefined>)): Promise<void> {
    const wanted = typeof made === 'function' ? await made(this.#opened.any()).catch(() => undefined) : made
    if (wanted === undefined) return
    this.calls++
    await this.#until(this.#history.begin(wanted), wanted, false)
  }

  /** Until it is told what came of it. `unsure`: an attempt was made before, and nobody knows how it ended. */
  async #until(number: number, wanted: Wish, unsure: boolean): Promise<void> {
    for (let waitMs = 10; ; waitMs = Math.min(500, waitMs * 2)) {
      const answer = await this.#attempt(number, wanted)
      if (answer.told === 'unknown') unsure = true
      // A refusal tells of its own attempt only, unless it is a judgement, which a repeated call gets only if none before it succeeded.
      const isOver =
        answer.told === 'ok' || (answer.told === 'refused' && (!isPassing(answer.code) || (!unsure && this.#random.chance(0.3))))
      // Damage is no judgement: it keeps an attempt from looking whether one before it succeeded.
      const told = answer.told === 'refused' && answer.code === 'DAMAGED' && unsure ? 'unknown' : answer.told
      if (isOver || (told === 'unknown' && isLook(wanted))) return this.#history.end(number, { ...answer, told })
      await sleep(waitMs)
    }
  }

  async #attempt(number: number, wanted: Wish): Promise<Answer> {
    const asked = nowUs()
    try {
      return { ...(await this.#perform(number, wanted)), asked }
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error
      return { told: error.outcome === 'none' ? 'refused' : 'unknown', code: error.code, asked }
    }
  }

  #perform(number: number, wanted: Wish): Promise<Answer> {
    const { name, begun, copied, copies } = this.#options
    if (wanted.kind === 'doctor') return doctorOf(this.#opened)
    if (wanted.kind === 'import') return importWish(this.#opened, wanted)
    if (wanted.kind !== 'copy') return perform(this.#opened.any(), wanted, `${name}#${number}`)
    const now = generationAt(begun)
    const recent = Array.from({ length: Math.min(COMPARED, now + 1) }, (_, i) => now - i)
    return copyAndVerify(
      copied,
      copies,
      recent.flatMap((generation) => sessionsOf(generation).talks),
    )
  }
}

function isLook({ kind }: Wish): boolean {
  return kind === 'read' || kind === 'list' || kind === 'search' || kind === 'doctor' || kind === 'copy'
}

/** It may succeed if it is tried again. */
function isPassing(code: string | undefined): boolean {
  return (
    code === 'UNAVAILABLE' || code === 'UNREADABLE' || code === 'NO_SPACE' || code === 'DEADLINE_EXCEEDED' || code === 'RESOURCE_EXHAUSTED'
  )
}
