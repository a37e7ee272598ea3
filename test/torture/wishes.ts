/** What clients want of a store, as a seed decides, and how each wish is carried out by whatever store or server there is. */

import { HoldfastError } from '../../src/errors.ts'
import { LIMITS } from '../../src/record/limits.ts'
import type { SessionApi } from '../../src/store/api/session-api.ts'
import type { StoreApi } from '../../src/store/api/store-api.ts'
import type { DamagedPlace } from '../../src/store/damage/damage.ts'
import type { Random } from '../simulation/random.ts'
import type { Role } from './client.ts'
import { type Answer, digestOf, type Extent, nowUs, type Wish } from './history.ts'
import { contentOf, generationAt, importedTags, sessionsOf, tagOf } from './sessions.ts'

type Made = Wish | ((store: StoreApi) => Promise<Wish | undefined>)

/** `tag` is one that nobody else makes. */
export function wish(role: Role, random: Random, tag: string, begun: number): Made {
  // Late writers are what zombies are made of.
  const generation = Math.max(0, generationAt(begun) - (random.chance(0.1) ? 1 : 0))
  const { talks, doomed, imported, reborn } = sessionsOf(generation)
  if (role === 'doctor') return { kind: 'doctor' }
  if (role === 'copier') return { kind: 'copy' }
  if (role === 'importer') return { kind: 'import', session: imported, tags: importedTags(imported) }
  if (role === 'lister' && random.chance(0.1)) return { kind: 'list', whole: true }
  if (role === 'lister') return random.chance(0.5) ? { kind: 'list' } : (store) => findable(store, random.pick(talks))
  const session = random.chance(0.15) ? doomed : random.pick(talks)
  const choice = random.float()
  if (choice < 0.52) {
    const batch = random.chance(0.2) ? 2 + random.int(3) : 1
    return { kind: 'append', session, tags: Array.from({ length: batch }, (_, i) => `${tag}i${i}`) }
  }
  if (choice < 0.66) return (store) => conditional(store, session, tag)
  if (choice < 0.72) return { kind: 'describe', session, title: tag }
  if (choice < 0.75) return { kind: 'commit', session, keep: random.int(5) }
  if (choice < 0.755) return { kind: 'fork', session: random.pick(talks), child: `fork-${tag}` }
  if (choice < 0.76) return { kind: 'delete', session: doomed }
  if (choice < 0.762) return { kind: 'purge' }
  if (choice < 0.77) return { kind: 'recreate', session: reborn }
  return { kind: 'read', session }
}

/** An append that is to follow what is there now. */
async function conditional(store: StoreApi, id: string, tag: string): Promise<Wish | undefined> {
  const session = store.session(id)
  const from = nowUs()
  const { version } = await session.info()
  const { messages } = await session.messages({ limit: 1, archived: true })
  // Only if nobody came between the two looks is it the last message of that version.
  if ((await session.info()).version !== version) return undefined
  const last = messages.at(-1)
  return {
    kind: 'append',
    session: id,
    tags: [`${tag}i0`],
    expect: { version, last: last === undefined ? null : tagOf(last.message), from, to: nowUs() },
  }
}

/** A message that is there: it was durable before it was shown. */
async function findable(store: StoreApi, session: string): Promise<Wish | undefined> {
  const { messages } = await store.session(session).messages({ limit: 20, archived: true })
  const last = messages.at(-1)
  return last === undefined ? undefined : { kind: 'search', session, tag: tagOf(last.message) }
}

export async function perform(
  store: StoreApi,
  wanted: Exclude<Wish, { kind: 'doctor' | 'import' | 'copy' }>,
  key: string,
): Promise<Answer> {
  if (wanted.kind === 'list')
    return wanted.whole === true ? { told: 'ok', listed: await allIds(store) } : { told: 'ok', seen: await listed(store) }
  if (wanted.kind === 'search') {
    const { hits, lag } = await store.search(wanted.tag, { session: wanted.session, kinds: ['message'], limit: 10 })
    return lag === null ? { told: 'ok', hits: hits.length } : { told: 'unknown' }
  }
  if (wanted.kind === 'purge') {
    for await (const _ of store.purge({ olderThanMs: 0 }));
    return { told: 'ok' }
  }
  const session = store.session(wanted.session)
  if (wanted.kind === 'accept') return { told: 'ok', gaps: (await session.acceptDamage({ key })).accepted.length }
  if (wanted.kind === 'recreate') return recreate(store, session, key)
  if (wanted.kind === 'read') return { told: 'ok', seen: [await extentOf(session)] }
  if (wanted.kind === 'append') {
    const messages = wanted.tags.map((tag, i) => ({ role: 'user', content: contentOf(tag, bytesOf(tag)), ...(i === 1 ? { id: tag } : {}) }))
    await session.append(messages, { key, ...(wanted.expect === undefined ? {} : { expect: wanted.expect.version }) })
  } else if (wanted.kind === 'describe') await session.describe({ title: wanted.title }, { key })
  else if (wanted.kind === 'delete') await session.delete({ key })
  else if (wanted.kind === 'fork') await session.fork({ id: wanted.child, key })
  else {
    const made = await session.commit({ keep: wanted.keep, key })
    return made.status === 'accepted' ? { told: 'ok', archive: made.archive } : { told: 'ok' }
  }
  return { told: 'ok' }
}

/** Decided by the tag: whoever repeats a call must say the same. */
function bytesOf(tag: string): number {
  const number = Number(/n(\d+)i/.exec(tag)?.[1] ?? 0)
  return number % 50 === 7 ? 60_000 : number % 10 === 3 ? 4000 : 60
}

export async function extentOf(session: SessionApi): Promise<Extent> {
  const { messages, damage } = await readAll(session)
  const tags = messages.map(({ tag }) => tag)
  const { title, status } = await session.info()
  const accepted = damage.filter((place) => place.accepted === true).length
  const damaged = Math.max(damage.length - accepted, status === 'damaged' ? 1 : 0)
  return { session: session.id, count: tags.length, digest: digestOf(tags), title, damaged, accepted }
}

interface Whole {
  readonly messages: { readonly id: string; readonly tag: string }[]
  readonly damage: DamagedPlace[]
}

/** All messages, archived ones too, in order; and what is missing. */
export async function readAll(session: Pick<SessionApi, 'messages'>): Promise<Whole> {
  const whole: Whole = { messages: [], damage: [] }
  for (let after: string | undefined; ; ) {
    const from = after === undefined ? ({ from: 'start' } as const) : { after }
    const page = await session.messages({ limit: LIMITS.pageMessages, archived: true, ...from })
    whole.messages.push(...page.messages.map(({ id, message }) => ({ id, tag: tagOf(message) })))
    whole.damage.push(...page.damage)
    after = page.messages.at(-1)?.id
    if (!page.more || after === undefined) return whole
  }
}

/** Whatever of this is refused was done by another client. */
async function recreate(store: StoreApi, session: SessionApi, key: string): Promise<Answer> {
  const steps = [
    () => session.delete(),
    async () => {
      for await (const _ of store.purge({ olderThanMs: 0 }));
    },
    () => store.create({ id: session.id }),
    () => session.append({ role: 'user', content: contentOf(key, 60) }),
    async () => void (await session.info()),
  ]
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      if (!(error instanceof HoldfastError) || !['NOT_FOUND', 'CONFLICT', 'ALREADY_EXISTS'].includes(error.code)) throw error
    }
  }
  return { told: 'ok' }
}

async function listed(store: StoreApi): Promise<Extent[]> {
  const { sessions } = await store.list({ limit: 12 })
  return (
    sessions
      .filter(({ id }) => !id.startsWith('fork-') && !id.startsWith('reborn-'))
      // Its files cannot be read at this moment: the list says so, and nothing else about it.
      .filter(({ status }) => status !== 'unreadable')
      .map(({ id, totalMessageCount, title, status }) => ({
        ...{ session: id, count: totalMessageCount, digest: '', title },
        damaged: status === 'damaged' ? 1 : 0,
      }))
  )
}

/** In the order of their creation, in which changes move no session from one page to another. */
async function allIds(store: StoreApi): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await store.list({ order: 'created', limit: LIMITS.pageSessions, cursor })
    ids.push(...page.sessions.map(({ id }) => id))
    cursor = page.cursor
  }
  return ids
}
