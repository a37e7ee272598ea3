/**
 * One run of the real store under one seed: simulated processes with a store each, on a simulated disk, and clients that append, describe,
 * go back, fork, delete, create anew and purge. At the end everything heals, new processes look and write once more, and check.ts holds what
 * they find against a naive model of what the clients had wished.
 */
import { openFilesEngine } from '../../../src/engines/files/engine.ts'
import { HoldfastError } from '../../../src/errors.ts'
import { sessionReducer } from '../../../src/session/reducer.ts'
import { openStore } from '../../../src/store/open-store.ts'
import type { Store } from '../../../src/store/store.ts'
import type { Finding } from '../check.ts'
import { simulatedIds } from '../random.ts'
import type { RunReport } from '../run.ts'
import { type SimulatedProcess, simulatedClock } from '../scheduler.ts'
import { type Running, Stage, type StageOptions } from '../stage.ts'
import { checkStore } from './check.ts'
import { lookAt, type StoreFound } from './look.ts'
import { type Answer, fulfil, KINDS, type Kind, type Knowledge, makeWish, type Wish } from './wish.ts'

/** `none`: refused, or failed and left nothing. */
type Told = Answer['told'] | 'none' | 'unknown' | 'died'

export interface Attempt {
  readonly wish: Wish
  readonly begun: number
  ended: number
  told: Told
  answer: Answer | undefined
  error: unknown
}

/** Sessions that a run may come to have: forks are made all the time. */
const MOST_SESSIONS = 6

interface StoreOptions extends StageOptions {
  /** Whether there are workers, too. */
  readonly workers?: boolean
}

export async function simulateStore(seed: number, options: StoreOptions = {}): Promise<RunReport> {
  return new StoreRun(seed, options).run()
}

class StoreRun {
  readonly #seed: number
  readonly #stage: Stage<Store>
  readonly #workers: boolean
  readonly #attempts: Attempt[] = []
  readonly #knowledge = new Map<string, Knowledge>()
  #clientsLeft = 0

  constructor(seed: number, { workers = false, ...options }: StoreOptions) {
    this.#seed = seed
    this.#workers = workers
    this.#stage = new Stage<Store>(seed, options, (process) => this.#open(process), 3)
    for (let i = 0; i < this.#stage.plan.journals; i++) this.#know(`session ${i}`)
  }

  async run(): Promise<RunReport> {
    const stage = this.#stage
    for (let i = 0; i < stage.plan.clients; i++) {
      this.#clientsLeft++
      void this.#client(i).then(() => this.#clientsLeft--)
    }
    const end = await stage.scheduler.run({ steps: stage.plan.steps, until: () => this.#clientsLeft === 0 })
    const findings: Finding[] =
      end === 'idle' && this.#clientsLeft > 0 ? [{ what: 'stuck', detail: 'Clients wait, and nothing is under way.' }] : []
    if (stage.plan.rescued) await this.#rescue()
    stage.calm()
    for (const { wish, error } of this.#attempts)
      if (error !== undefined && !(error instanceof HoldfastError)) findings.push(crash(error, wish.name))
    let limits = 0
    try {
      const { first, second } = await stage.settle(this.#look())
      const { lostWriteBack, powerLosses } = stage
      const powerLost = powerLosses > 0
      const checked = checkStore({ attempts: this.#attempts, first, second, lostWriteBack, powerLost, worked: this.#workers })
      findings.push(...checked.findings)
      limits = checked.limits
    } catch (error) {
      findings.push(crash(error, 'the last look'))
    }
    return {
      seed: this.#seed,
      findings,
      limits,
      steps: stage.scheduler.step,
      attempts: this.#attempts.length,
      acknowledged: this.#attempts.filter(({ told }) => told === 'done' || told === 'duplicate').length,
      kills: stage.kills,
      powerLosses: stage.powerLosses,
      faults: stage.faults,
      trace: [...(stage.scheduler.trace ?? []), ...(stage.scheduler.trace === undefined ? [] : this.#contents())],
    }
  }

  /** Looks with a new process, writes to whatever is live with another one, which must bring nothing back, and looks again. */
  async #look(): Promise<{ first: StoreFound; second: StoreFound }> {
    const ids = [...this.#knowledge.keys()]
    const reader = await this.#stage.start('reader')
    const first = await lookAt(reader.held, ids)
    this.#stage.scheduler.kill(reader.process)
    const writer = await this.#stage.start('writer')
    for (const [i, session] of ids.entries()) {
      if (first.sessions.get(session)?.shown === undefined) continue
      await this.#attempt(writer, this.#wish('append', `last ${i}`, session))
      if (this.#workers) await this.#attempt(writer, this.#wish('work', `last work ${i}`, session))
    }
    this.#stage.scheduler.kill(writer.process)
    return { first, second: await lookAt((await this.#stage.start('last')).held, ids) }
  }

  /** What lies on the disk at the end, line by line, for whoever reads a trace. */
  *#contents(): Generator<string> {
    for (const [path, content] of this.#stage.machine.snapshot()) {
      if (!path.endsWith('.jsonl')) continue
      let at = 0
      for (const line of content.toString('latin1').split('\n')) {
        yield `${path} ${at} ${JSON.stringify(line)}`
        at += line.length + 1
      }
    }
  }

  /** Nothing fails any more, and every process has the time to carry along what a failed sync left. */
  async #rescue(): Promise<void> {
    this.#stage.over = true
    this.#stage.machine.heal()
    const reads = this.#stage.running.flatMap(({ held }) => [...this.#knowledge.keys()].map(async (id) => held.session(id).version()))
    await this.#stage.settle(Promise.allSettled(reads))
  }

  async #client(index: number): Promise<void> {
    const { random, plan } = this.#stage
    for (let i = 0; i < plan.wishes && !this.#stage.over; i++) {
      const works = this.#workers && i > 0 && random.chance(0.25)
      const kind = i === 0 ? 'append' : works ? 'work' : random.pick(KINDS[plan.rare])
      const session = random.pick([...this.#knowledge.keys()])
      if (kind === 'fork' && this.#knowledge.size >= MOST_SESSIONS) continue
      const wish = this.#wish(kind, `${index}.${i}`, session)
      if (wish.kind === 'fork') this.#know(wish.id)
      // What has neither a key nor ids would happen twice.
      const tries = wish.key !== undefined || (wish.kind === 'append' && wish.ids !== undefined) ? 4 : 1
      for (let n = 0; n < tries; n++) {
        const running = await this.#stage.someProcess()
        if (running === undefined) return
        const { told } = await this.#attempt(running, wish)
        if (told === 'done' || told === 'duplicate' || told === 'read' || random.chance(0.2)) break
      }
    }
  }

  #wish(kind: Kind, name: string, session: string): Wish {
    const { random, plan } = this.#stage
    return makeWish(random, kind, name, session, this.#know(session), random.chance(0.1) ? 2000 : plan.textBytes)
  }

  async #attempt(running: Running<Store>, wish: Wish): Promise<Attempt> {
    const { scheduler, random, plan } = this.#stage
    const attempt: Attempt = {
      wish,
      begun: scheduler.step,
      ended: Number.POSITIVE_INFINITY,
      told: 'unknown',
      answer: undefined,
      error: undefined,
    }
    this.#attempts.push(attempt)
    scheduler.note(running.process, () => `begin ${JSON.stringify(wish)}`)
    const outcome = fulfil(running.held, wish).then(
      (answer): Partial<Attempt> => ({ told: answer.told, answer }),
      (error: unknown): Partial<Attempt> => ({ told: error instanceof HoldfastError ? error.outcome : 'unknown', error }),
    )
    Object.assign(attempt, await Promise.race([outcome, running.died.then((): Partial<Attempt> => ({ told: 'died' }))]))
    attempt.ended = scheduler.step
    this.#learn(attempt)
    if (attempt.told === 'read' && random.chance(plan.cutAfterReadChance)) this.#stage.cutNext = true
    scheduler.note(
      running.process,
      () => `told ${attempt.told} ${wish.name} ${JSON.stringify(attempt.answer)} ${String(attempt.error ?? '')}`,
    )
    return attempt
  }

  #learn({ wish, told, answer }: Attempt): void {
    const known = this.#know(wish.session)
    if (answer?.version !== undefined && wish.kind !== 'append') known.version = answer.version
    known.messages.push(...(answer?.ids ?? answer?.view?.messages.map(({ id }) => id) ?? []).filter((id) => !known.messages.includes(id)))
    if (told === 'done' && wish.key !== undefined) known.keys.push(wish.key)
  }

  #know(session: string): Knowledge {
    const known = this.#knowledge.get(session) ?? { messages: [], keys: [], version: undefined }
    this.#knowledge.set(session, known)
    return known
  }

  async #open(process: SimulatedProcess): Promise<Store> {
    const { scheduler, machine, random, plan } = this.#stage
    const [clock, ids] = [simulatedClock(scheduler, process), simulatedIds(random)]
    const { syncWriteBytes, readBytes, segmentBytes } = plan
    const engine = await openFilesEngine({
      directory: '/store',
      keysOf: sessionReducer.keysOf,
      disk: machine.disk(process),
      clock,
      ids,
      limits: { syncWriteBytes, readBytes, reserveBytes: 6000, openSegments: 3, feedBytes: 3000, feedFiles: 2, watermarkBytes: 700 },
    })
    return openStore(engine, { clock, ids, limits: { segmentBytes, replicas: random.pick([1, 2, 1000]) } })
  }
}

function crash(error: unknown, where: string): Finding {
  return { what: 'crashed', detail: `${where}: ${error instanceof Error ? error.stack : String(error)}` }
}
