/**
 * How much a space may hold and how fast it may grow: sessions, bytes, and messages a minute; and how much a key of a server may add of them. They
 * lie in the store's own space, so every process that enforces them knows them within a second. What a space holds is what the catalog tells, and its
 * quarantine, looked at every few seconds, and what this process has let in since; what a key has added, and how many messages come, is counted by all processes together
 * (`tally.ts`). So several of them may let in a little more than the quota says, never much.
 */
import type { Clock } from '../../engine/clock.ts'
import { STORE_SPACE } from '../../engine/names.ts'
import { HoldfastError } from '../../errors.ts'
import { checkId, invalid } from '../../session/check.ts'
import { quarantinedBytes } from '../damage/quarantine.ts'
import { Handle } from '../handle.ts'
import { putEntries, readEntries } from '../messages/entries.ts'
import type { SessionParts } from '../parts.ts'
import { requireQuotaFields } from '../policy-fields.ts'
import { statsOf } from '../stats.ts'
import type { Quota, QuotaOf, QuotaPort, QuotaRefused, QuotaUsage, Wanted } from './quota-port.ts'
import { isMuch, Tally } from './tally.ts'

const SESSION = 'quotas'
const CHANNEL = 'quotas'
const REFRESH_MS = 500
const USAGE_MS = 2000
const NOTHING: QuotaUsage = { sessions: 0, bytes: 0 }

interface Usage extends QuotaUsage {
  readonly atMs: number
  /** What was let in here since. */
  readonly since: QuotaUsage
}

export class Quotas implements QuotaPort {
  readonly #parts: SessionParts
  readonly #refused: QuotaRefused
  readonly #tally: Tally
  readonly #usage = new Map<string, Usage>()
  readonly #minutes = new Map<string, Minute>()
  #known = new Map<string, Quota>()
  #version = ''
  #lookedMs = Number.NEGATIVE_INFINITY

  constructor(parts: SessionParts, refused: QuotaRefused = () => undefined) {
    this.#parts = parts
    this.#refused = refused
    this.#tally = new Tally(parts)
  }

  async get(of: QuotaOf): Promise<Quota> {
    await this.#refresh(true)
    return this.#known.get(nameOf(of)) ?? {}
  }

  /** What counts against a quota, as far as it is known; null for a key of which nothing is counted. */
  async usage(of: QuotaOf): Promise<QuotaUsage | null> {
    if ('key' in of && !(await this.isCounted(of.key))) return null
    await this.#look(of, {})
    return this.#used(of)
  }

  /** In place of what was said before; an empty one takes it away, and what was added is no longer counted. */
  async set(of: QuotaOf, quota: Quota): Promise<void> {
    const checked = checkQuota(quota)
    const entry = { channel: CHANNEL, key: nameOf(of) }
    const isEmpty = Object.keys(checked).length === 0
    await putEntries(this.#handle, [isEmpty ? entry : { ...entry, value: { ...checked } }], {})
    if (isEmpty) await this.#forget(nameOf(of))
    await this.#refresh(true)
  }

  /** Whether what this key adds has to be counted. */
  async isCounted(key: string): Promise<boolean> {
    await this.#refresh()
    const quota = this.#known.get(nameOf({ key }))
    return quota?.sessions !== undefined || quota?.bytes !== undefined
  }

  /** RESOURCE_EXHAUSTED if it is more than is left. What is let in counts. */
  async admit(of: QuotaOf, wanted: Wanted): Promise<void> {
    await this.#refresh()
    const quota = this.#known.get(nameOf(of))
    if (quota === undefined) return
    const { sessions = 0, messages = 0, bytes = 0 } = wanted
    if (sessions + bytes > 0 && (quota.sessions !== undefined || quota.bytes !== undefined)) {
      await this.#look(of, limitsOf(quota))
      // Nothing is awaited from here to where it counts: of many that come at once, each must see those before it.
      const used = this.#used(of)
      if (sessions > 0) this.#require(of, 'sessions', quota.sessions, used.sessions + sessions, used.sessions)
      this.#require(of, 'bytes', quota.bytes, used.bytes + bytes, used.bytes)
      if ('key' in of) await this.#tally.add(nameOf(of), { sessions, bytes }, limitsOf(quota))
      else this.#letIn(of.space, { sessions, bytes })
    }
    if (quota.messagesPerMinute !== undefined && messages > 0) await this.#spend(of, quota.messagesPerMinute, messages)
  }

  /** What was counted is in the store. */
  settle(): Promise<void> {
    return this.#tally.settle()
  }

  #require(of: QuotaOf, limit: 'sessions' | 'bytes', most: number | undefined, wanted: number, used: number): void {
    if (most === undefined || wanted <= most) return
    this.#refused(limit, kindOf(of))
    throw new HoldfastError(
      'RESOURCE_EXHAUSTED',
      'key' in of
        ? `This key may add ${most} ${limit}, and has added ${used}. Ask for a larger quota.`
        : `This space may hold ${most} ${limit}, and holds ${used}. Delete and purge what is not needed, or ask for a larger quota.`,
      { details: { quota: limit, of: kindOf(of), limit: most, used } },
    )
  }

  /** Both together: a minute goes by how much more the tally tells than before. */
  async #forget(who: string): Promise<void> {
    this.#minutes.delete(who)
    await this.#tally.forget(who)
  }

  async #spend(of: QuotaOf, perMinute: number, messages: number): Promise<void> {
    const who = nameOf(of)
    await this.#tally.look(who, { messages: perMinute })
    const minute = this.#minutes.get(who) ?? new Minute(this.#parts.clock)
    this.#minutes.set(who, minute)
    const waitMs = minute.spend(messages, perMinute, this.#tally.of(who).others)
    if (waitMs === 0) return this.#tally.add(who, { messages }, { messages: perMinute })
    this.#refused('messagesPerMinute', kindOf(of))
    const seconds = Math.ceil(waitMs / 1000)
    throw new HoldfastError('RESOURCE_EXHAUSTED', `More than ${perMinute} messages a minute are not let in. Come back in ${seconds} s.`, {
      details: { quota: 'messages_per_minute', of: kindOf(of), limit: perMinute, retry_after: seconds },
    })
  }

  #used(of: QuotaOf): QuotaUsage {
    if ('key' in of) {
      const { sessions, bytes } = this.#tally.of(nameOf(of))
      return { sessions, bytes }
    }
    const known = this.#usage.get(of.space)
    return known === undefined ? NOTHING : sum(known, known.since)
  }

  /**
   * Finds out what is used. Of a space as the catalog tells, which knows what every process has written: asked every few seconds, and when a good part of the
   * limits was let in here. Then that may still be on its way, so it is not less.
   */
  async #look(of: QuotaOf, limits: Partial<QuotaUsage>): Promise<void> {
    if ('key' in of) return this.#tally.look(nameOf(of), limits)
    const { space } = of
    const nowMs = this.#parts.clock.monotonicMs()
    const recent = (): Usage | undefined => {
      const known = this.#usage.get(space)
      return known !== undefined && nowMs - known.atMs < USAGE_MS ? known : undefined
    }
    const known = recent()
    if (known !== undefined && !isMuch(known.since, limits)) return
    const parts = { ...this.#parts, space }
    const [{ sessions, bytes }, quarantined] = await Promise.all([statsOf(parts), quarantinedBytes(parts)])
    const told = { sessions: sessions.ok + sessions.damaged + sessions.unreadable, bytes: bytes + quarantined }
    // Somebody else may have asked and been let in meanwhile.
    const now = recent()
    const least = now === undefined ? NOTHING : sum(now, now.since)
    const used = { sessions: Math.max(told.sessions, least.sessions), bytes: Math.max(told.bytes, least.bytes) }
    this.#usage.set(space, { ...used, since: NOTHING, atMs: now?.atMs ?? nowMs })
  }

  #letIn(space: string, added: QuotaUsage): void {
    const known = this.#usage.get(space)
    if (known !== undefined) this.#usage.set(space, { ...known, since: sum(known.since, added) })
  }

  async #refresh(now = false): Promise<void> {
    const nowMs = this.#parts.clock.monotonicMs()
    if (!now && nowMs - this.#lookedMs < REFRESH_MS) return
    this.#lookedMs = nowMs
    const state = await this.#handle.state()
    if (state.status !== 'live' || state.version === this.#version) return
    const known = new Map<string, Quota>()
    for await (const { key, value } of readEntries(this.#handle, CHANNEL)) known.set(key, value as Quota)
    this.#known = known
    this.#version = state.version
  }

  get #handle(): Handle {
    return new Handle({ ...this.#parts, space: STORE_SPACE }, SESSION)
  }
}

/** What was let in during the last minute, here and elsewhere, as one number that fades, so that it need not be remembered one by one. */
class Minute {
  readonly #clock: Clock
  #fadedMs: number
  #count = 0
  #others = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#fadedMs = clock.monotonicMs()
  }

  /** 0 if they may come; otherwise how long to wait, in milliseconds: never for a full minute to turn. `others`: let in elsewhere, since ever. */
  spend(messages: number, perMinute: number, others: number): number {
    const nowMs = this.#clock.monotonicMs()
    this.#count = Math.max(0, this.#count - ((nowMs - this.#fadedMs) * perMinute) / 60_000)
    this.#fadedMs = nowMs
    this.#count += others - this.#others
    this.#others = others
    // More than a minute's worth at once is let in after a minute without any.
    const excess = this.#count === 0 ? 0 : this.#count + messages - perMinute
    if (excess > 0) return Math.max(1, (excess * 60_000) / perMinute)
    this.#count += messages
    return 0
  }
}

function sum(a: QuotaUsage, b: QuotaUsage): QuotaUsage {
  return { sessions: a.sessions + b.sessions, bytes: a.bytes + b.bytes }
}

function limitsOf({ sessions, bytes }: Quota): Partial<QuotaUsage> {
  return { ...(sessions === undefined ? {} : { sessions }), ...(bytes === undefined ? {} : { bytes }) }
}

function kindOf(of: QuotaOf): 'space' | 'key' {
  return 'key' in of ? 'key' : 'space'
}

function nameOf(of: QuotaOf): string {
  return 'key' in of ? `key ${checkId('The id of a key', of.key)}` : `space ${checkId('The name of a space', of.space)}`
}

function checkQuota(quota: Quota): Quota {
  for (const [field, value] of Object.entries<number | undefined>(
    requireQuotaFields(quota) as Readonly<Record<string, number | undefined>>,
  )) {
    if (value !== undefined && (!Number.isSafeInteger(value) || value < 0)) throw invalid(`The quota of ${field} must be a whole number.`)
  }
  return Object.fromEntries(Object.entries(quota).filter(([, value]) => value !== undefined)) as Quota
}
