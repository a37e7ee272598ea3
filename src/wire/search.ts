/** Search hits and statistics as they are in JSON, over HTTP and with `--json`; and back. */
import type { SearchHit, SearchResult } from '../store/search.ts'
import type { Stats } from '../store/stats.ts'
import {
  as,
  count,
  countPair,
  type Describes,
  decimal,
  described,
  flag,
  list,
  mapped,
  nullable,
  object,
  oneOf,
  optional,
  text,
} from './codec.ts'
import { archiveIdCodec } from './names.ts'
import { usageCodec } from './operations.ts'

export const hitCodec = object(
  {
    session: as('session_id', text),
    message: as('message_id', nullable(text)),
    snippet: text,
    score: decimal,
    kind: oneOf('message', 'session', 'summary', 'memory'),
    title: nullable(text),
    archive: as('archive_id', nullable(archiveIdCodec)),
    memory: as('memory_id', nullable(text)),
    role: nullable(text),
    at: text,
    marks: list(countPair),
  },
  { name: 'Hit' },
) satisfies Describes<SearchHit>

const lag = nullable(object({ sessions: count, bytes: count }))

/** What a search found. The places that it lacks are beside it, as in every answer. */
export const foundCodec = mapped(
  object(
    {
      hits: list(hitCodec),
      lag: described(lag, 'text that is not indexed yet and was not searched'),
      moreDamage: optional(described(flag, 'more sessions that were searched are damaged than `damage` names')),
    },
    { name: 'Found' },
  ),
  ({ hits, lag: behind, moreDamage }: Omit<SearchResult, 'damage'>) => ({ hits, lag: behind, moreDamage: moreDamage ? true : undefined }),
  ({ moreDamage = false, ...rest }): Omit<SearchResult, 'damage'> => ({ ...rest, moreDamage }),
)

export const statsCodec = object(
  {
    sessions: object({ ok: count, damaged: count, unreadable: count, deleted: count }),
    messages: object({ live: count, archived: count }),
    tokens: count,
    bytes: count,
    tasks: object({ pending: count, running: count, completed: count, failed: count, cancelled: count }),
    usage: list(usageCodec),
    days: list(object({ day: text, sessions: count, messages: count, tokens: count })),
    lag,
  },
  { name: 'Stats' },
) satisfies Describes<Stats>
