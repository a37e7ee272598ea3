import { z } from 'zod'
import type { DamagedPlace } from '../../store/damage/damage.ts'
import { damageText, placeFields } from '../../wire/damage.ts'

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
  const whole = damage.length === 0 ? fields : { ...fields, damage: damage.map(placeFields) }
  return {
    structuredContent: whole,
    content: [
      ...(damage.length === 0 ? [] : [{ type: 'text' as const, text: damageNote(damage) }]),
      { type: 'text' as const, text: JSON.stringify(whole) },
    ],
  }
}

export function damageNote(damage: readonly DamagedPlace[]): string {
  return `Warning: this is incomplete, ${damageText(damage)}.`
}
