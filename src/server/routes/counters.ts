/** What is counted of a session: tokens that calls to models took, contexts and skills that were used, turns, memories. */
import { z } from '@hono/zod-openapi'
import { HoldfastError } from '../../errors.ts'
import { LIMITS } from '../../record/limits.ts'
import type { Json, JsonObject } from '../../record/record.ts'
import type { DamagedPlace } from '../../store/damage/damage.ts'
import { Handle } from '../../store/handle.ts'
import { readEntry } from '../../store/messages/entries.ts'
import type { Session } from '../../store/session.ts'
import { usageCodec, writtenCodec } from '../../wire/operations.ts'
import { type Route, route } from '../route.ts'
import * as schemas from '../schemas.ts'
import { anyObject } from '../wire-schema.ts'
import { withoutUndefined } from '../without-undefined.ts'

const usage = route({
  method: 'get',
  path: '/sessions/{id}/usage',
  tag: 'sessions',
  summary: 'What calls to models took so far, by model.',
  scope: 'read',
  reach: 'session',
  result: z.array(schemas.Usage),
  handle: async (call) => ({ result: (await (await call.session()).usage()).map(usageCodec.encode) }),
})

const recordUsage = route({
  method: 'post',
  path: '/sessions/{id}/usage',
  tag: 'sessions',
  summary: 'Adds what a call to a model took.',
  scope: 'write',
  reach: 'session',
  body: z.object({ model: z.string(), input_tokens: z.number().int().min(0), output_tokens: z.number().int().min(0) }),
  result: schemas.Written,
  handle: async (call) => {
    const { model, input_tokens: inputTokens, output_tokens: outputTokens } = call.body
    const session = await call.session()
    return {
      result: writtenCodec.encode({
        session: session.id,
        ...(await session.recordUsage({ model, inputTokens, outputTokens }, call.write)),
      }),
    }
  },
})

const used = route({
  method: 'post',
  path: '/sessions/{id}/used',
  tag: 'sessions',
  summary: 'Notes which contexts and skills were really used. Tells how many so far.',
  scope: 'write',
  reach: 'session',
  body: z.object({
    contexts: z.array(z.string()).nullable().optional(),
    skill: anyObject.nullable().optional(),
  }),
  result: z.object({ session_id: z.string(), contexts_used: z.number().int(), skills_used: z.number().int() }),
  handle: async (call) => {
    const { body, write, store } = call
    const session = await call.session()
    const note = { contexts: body.contexts ?? [], skill: (body.skill ?? null) as Json }
    const id = write.key ?? store.parts.ids.next(store.parts.clock.now())
    const { contexts_used, skills_used } = await noteUse(new Handle(store.parts, session.id), session, note, id)
    return { result: { session_id: session.id, contexts_used, skills_used } }
  },
})

const USED = 'used'
const USED_ATTEMPTS = 50

interface Used {
  readonly contexts_used: number
  readonly skills_used: number
}

/** The note and the new sums are one record. Others may write between reading the sums and that: then it is tried again. */
async function noteUse(
  handle: Handle,
  session: Session<JsonObject>,
  note: { readonly contexts: readonly string[]; readonly skill: Json },
  id: string,
): Promise<Used> {
  for (let attempt = 1; ; attempt++) {
    const expect = await session.version()
    if ((await readEntry(handle, USED, `note ${id}`)) !== undefined) return usedOf(handle)
    const before = await usedOf(handle)
    const sums = {
      contexts_used: before.contexts_used + note.contexts.length,
      skills_used: before.skills_used + (note.skill === null ? 0 : 1),
    }
    try {
      const entries = [
        { channel: USED, key: `note ${id}`, value: note },
        { channel: USED, key: 'sums', value: sums },
      ]
      await session.putEntries(entries, { expect })
      return sums
    } catch (error) {
      const isRace = error instanceof HoldfastError && error.details.reason === 'version'
      if (!isRace || attempt === USED_ATTEMPTS) throw error
    }
  }
}

async function usedOf(handle: Handle): Promise<Used> {
  const sums = (await readEntry(handle, USED, 'sums'))?.value as Used | undefined
  return sums ?? { contexts_used: 0, skills_used: 0 }
}

const counters = route({
  method: 'get',
  path: '/stats/sessions/{id}',
  tag: 'stats',
  summary: 'Counters of a session.',
  scope: 'read',
  reach: 'session',
  result: z.object({
    session_id: z.string(),
    total_turns: z.number().int(),
    memories_extracted: z.number().int(),
    contexts_used: z.number().int(),
    skills_used: z.number().int(),
    message_count: z.number().int(),
    total_message_count: z.number().int(),
    commit_count: z.number().int(),
  }),
  handle: async (call) => {
    const session = await call.session()
    const info = await session.info()
    const archives = await session.archives()
    const turns = await turnsIn(session)
    const result = {
      session_id: session.id,
      total_turns: turns.count,
      memories_extracted: archives.reduce((sum, { memories }) => sum + memories.length, 0),
      ...(await usedOf(new Handle(call.store.parts, session.id))),
      message_count: info.messageCount,
      total_message_count: info.totalMessageCount,
      commit_count: info.commitCount,
    }
    return { result, version: info.version, damage: turns.damage }
  },
})

/** What the user said is the beginning of a turn. Counts a bounded number of messages, the newest ones. */
async function turnsIn(session: Session<JsonObject>): Promise<{ readonly count: number; readonly damage: readonly DamagedPlace[] }> {
  const damage: DamagedPlace[] = []
  let count = 0
  let before: string | undefined
  for (let left: number = LIMITS.pageMessages; left > 0; ) {
    const page = await session.messages({ ...withoutUndefined({ before }), archived: true, limit: left })
    count += page.messages.filter(({ message }) => message.role === 'user').length
    damage.push(...page.damage)
    left -= page.messages.length
    before = page.messages[0]?.id
    if (!page.more || before === undefined) break
  }
  return { count, damage }
}

export const counterRoutes: readonly Route[] = [usage, recordUsage, used, counters]
