/** What is told of sessions and messages that were removed. */
import { z } from '@hono/zod-openapi'
import type { ErasedFields, ExpiredFields, PurgedFields } from '../wire/operations.ts'

const text = z.string()
const count = z.number().int().min(0)

export const Purged = z
  .object({ session_id: text, deleted_at: text, action: z.enum(['purged', 'kept', 'failed']), freed_bytes: count, dry_run: z.boolean() })
  .openapi('Purged') satisfies z.ZodType<PurgedFields>

export const Expired = z
  .object({
    session_id: text,
    action: z.enum(['deleted', 'dropped', 'purged', 'kept', 'failed']),
    archive: count.nullable(),
    since: text,
    dry_run: z.boolean(),
  })
  .openapi('Expired') satisfies z.ZodType<ExpiredFields>

export const Erased = z
  .object({ session_id: text, action: z.enum(['purged', 'erased', 'failed']), messages: count, dry_run: z.boolean() })
  .openapi('Erased') satisfies z.ZodType<ErasedFields>
