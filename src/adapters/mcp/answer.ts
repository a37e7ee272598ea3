import { z } from 'zod'
import { HoldfastError } from '../../errors.ts'
import type { DamagedPlace } from '../../store/damage/damage.ts'
import { damageText, placesCodec } from '../../wire/damage.ts'

/** The field of an answer that lacks something that was written. */
export const Damage = z
  .array(
    z.object({
      position: z.number(),
      count: z.number().nullable().describe('messages that the answer lacks; null if unknown'),
      reason: z.string(),
      session: z.string().optional(),
      accepted: z.literal(true).optional(),
      since: z.string().optional(),
    }),
  )
  .optional()
  .describe('where something is missing that was written; left out if nothing is')

/** What a tool answers: for programs, and the same as text for models that read nothing else. What it lacks is said first. */
export function answer(fields: Record<string, unknown>, damage: readonly DamagedPlace[] = []) {
  const whole = damage.length === 0 ? fields : { ...fields, damage: placesCodec.encode(damage) }
  return {
    structuredContent: whole,
    content: [
      ...(damage.length === 0 ? [] : [{ type: 'text' as const, text: damageNote(damage) }]),
      { type: 'text' as const, text: JSON.stringify(whole) },
    ],
  }
}

/** A tool whose errors have a code and a reason, next to the message that a model reads. */
export function answering<A extends unknown[], R>(tool: (...given: A) => Promise<R>) {
  return async (...given: A): Promise<R | ToolFailure> => {
    try {
      return await tool(...given)
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error
      return failure(error)
    }
  }
}

/** The code that the protocol has for a resource that is not there, and that of JSON-RPC for wrong arguments; any other error is an internal one. */
const PROTOCOL_CODES: Readonly<Record<string, number>> = { NOT_FOUND: -32_002, INVALID_ARGUMENT: -32_602 }
const INTERNAL = -32_603

/** A request that is no call of a tool: its errors have a code of the protocol, and Holdfast's code and details as data. */
export function refusing<A extends unknown[], R>(request: (...given: A) => Promise<R>) {
  return async (...given: A): Promise<R> => {
    try {
      return await request(...given)
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error
      const { code, message, details, retryable, outcome } = error
      const data = { code, details: { ...details, retryable, outcome } }
      throw Object.assign(new Error(message, { cause: error }), { code: PROTOCOL_CODES[code] ?? INTERNAL, data })
    }
  }
}

interface ToolFailure {
  readonly [field: string]: unknown
  readonly isError: true
  readonly content: { readonly type: 'text'; readonly text: string }[]
}

/** As text alone: clients compare structured content with the schema of the tool, also that of an error. */
function failure({ code, message, details, retryable, outcome }: HoldfastError): ToolFailure {
  const fields = { code, message, details: { ...details, retryable, outcome } }
  return { isError: true, content: [message, JSON.stringify({ error: fields })].map((text) => ({ type: 'text', text })) }
}

export function damageNote(damage: readonly DamagedPlace[]): string {
  return `Warning: this is incomplete, ${damageText(damage)}.`
}
