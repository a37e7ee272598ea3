/**
 * Two processes commit the same session at about the same moment, again and again, while a third one makes the summaries and is killed at
 * random. What one process saw completed is looked at by a store that was opened afterwards.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { Random } from '../simulation/random.ts'
import { Child } from './children.ts'
import type { CommitterOptions, Order, Report } from './committer/main.ts'
import type { SummariserOptions } from './summariser/main.ts'

/** How many moments a session gets: what is told of it grows with each. */
const MOMENTS_PER_SESSION = 10
/** How often somebody waits until a task is completed. */
const COMPLETE_EVERY = 25
const LEASE_MS = 300

class Committer {
  readonly #child: Child
  readonly #waiting: ((report: Report) => void)[] = []

  constructor(options: CommitterOptions) {
    this.#child = new Child('committer', options)
    this.#child.onLine((line) => this.#waiting.shift()?.(JSON.parse(line) as Report))
  }

  answer(): Promise<Report> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(resolve)
      void this.#child.ended.then(({ complaint }) => reject(new Error(`The committer ended: ${complaint}`)))
    })
  }

  order(order: Order): Promise<Report> {
    this.#child.say(JSON.stringify(order))
    return this.answer()
  }

  async finish(): Promise<void> {
    await this.#child.finish()
  }
}

/** Is killed and replaced, until it is told to finish. */
class Summariser {
  kills = 0
  readonly #options: SummariserOptions
  readonly #random: Random
  #child: Child
  #timer: NodeJS.Timeout | undefined
  #spared = false

  constructor(options: SummariserOptions, random: Random) {
    this.#options = options
    this.#random = random
    this.#child = this.#start()
  }

  spare(): void {
    this.#spared = true
    clearTimeout(this.#timer)
  }

  async finish(): Promise<void> {
    this.spare()
    await this.#child.finish()
  }

  /** On a busy machine it may take long to begin; killed before, it would never do anything. */
  #start(): Child {
    const child = new Child('summariser', this.#options)
    child.onLine(() => {
      if (!this.#spared) this.#timer = setTimeout(() => this.#kill(), this.#random.int(1000))
    })
    return child
  }

  #kill(): void {
    this.#child.signal('SIGKILL')
    this.kills++
    this.#child = this.#start()
  }
}

export async function raceCommits({ moments, seed }: { readonly moments: number; readonly seed: number }): Promise<{ kills: number }> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-racing-'))
  const random = new Random(seed)
  const committers = [new Committer({ directory }), new Committer({ directory })]
  const summariser = new Summariser({ directory, leaseMs: LEASE_MS }, random)
  try {
    await Promise.all(committers.map((one) => one.answer()))
    const sessions = Math.ceil(moments / MOMENTS_PER_SESSION)
    const appended = new Map<string, string[]>()
    for (let moment = 0; moment < moments; moment++) {
      const session = `session ${moment % sessions}`
      const ids = Array.from({ length: 1 + random.int(3) }, (_, i) => `${moment}.${i}`)
      appended.set(session, [...(appended.get(session) ?? []), ...ids])
      const complete = moment % COMPLETE_EVERY === COMPLETE_EVERY - 1
      const orders = committers.map((_, i): Order => {
        const append = i === 0 ? ids : []
        return { session, append, keep: complete ? 0 : random.int(2), afterMs: random.float() * 4, complete: complete && i === 0 }
      })
      // A session begins with its first message; only then can others commit it.
      const alone = moment < sessions ? orders.slice(0, 1) : orders
      const [first] = await Promise.all(alone.map((order, i) => (committers[i] as Committer).order(order)))
      if (first?.status === 'completed') await checkCompleted(directory, session, first.archive as number)
    }
    summariser.spare()
    await checkAll(directory, appended)
    return { kills: summariser.kills }
  } finally {
    await Promise.all([...committers, summariser].map((one) => one.finish()))
    await rm(directory, { recursive: true, force: true })
  }
}

/** The switch, the summary and the memories, as a process sees them that begins now. */
async function checkCompleted(directory: string, id: string, number: number): Promise<void> {
  await using store = await openStore(directory)
  const session = store.session(id)
  const archive = await session.archive(number)
  expect(archive).toMatchObject({ status: 'completed', overview: expect.stringContaining('['), abstract: expect.any(String) })
  const ids = archive?.messages.map((message) => message.id) ?? []
  const live = (await session.messages({ limit: 1000 })).messages.map((message) => message.id)
  expect(live.filter((one) => ids.includes(one))).toEqual([])
  const remembered = await extractedIn(store)
  for (const one of ids) expect(remembered).toContain(one)
}

/** Once all tasks have ended: every message is archived once or live, and was extracted once if it is archived. */
async function checkAll(directory: string, appended: ReadonlyMap<string, readonly string[]>): Promise<void> {
  await using store = await openStore(directory)
  const all: string[] = []
  for (const [id, ids] of appended) {
    const session = store.session(id)
    const archived: string[] = []
    for (const { number, task } of await session.archives()) {
      await (await store.task(task)).completed()
      archived.push(...((await session.archive(number))?.messages.map((message) => message.id) ?? []))
    }
    const live = (await session.messages({ limit: 1000 })).messages.map((message) => message.id)
    expect([...archived, ...live]).toEqual(ids)
    expect(await session.info()).toMatchObject({ messageCount: live.length, totalMessageCount: ids.length })
    expect((await session.window()).messages.map((message) => message.id)).toEqual(live)
    all.push(...archived)
  }
  expect((await extractedIn(store)).sort()).toEqual(all.sort())
}

async function extractedIn(store: Store): Promise<string[]> {
  return (await store.memories()).flatMap(({ sources }) => sources.flatMap(({ messages }) => messages))
}
