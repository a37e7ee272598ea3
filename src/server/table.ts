/** The route table: everything below /api/v1. */
import type { Route } from './route.ts'
import { adminRoutes } from './routes/admin.ts'
import { branchRoutes } from './routes/branches.ts'
import { commitRoutes } from './routes/commits.ts'
import { counterRoutes } from './routes/counters.ts'
import { eventRoutes } from './routes/events.ts'
import { memoryRoutes } from './routes/memories.ts'
import { messageRoutes } from './routes/messages.ts'
import { searchRoutes } from './routes/search.ts'
import { sessionRoutes } from './routes/sessions.ts'
import { shareRoutes } from './routes/shares.ts'
import { toolResultRoutes } from './routes/tool-results.ts'
import { transferRoutes } from './routes/transfer.ts'

export const ROUTES: readonly Route[] = [
  ...sessionRoutes,
  ...messageRoutes,
  ...branchRoutes,
  ...commitRoutes,
  ...memoryRoutes,
  ...shareRoutes,
  ...eventRoutes,
  ...toolResultRoutes,
  ...counterRoutes,
  ...searchRoutes,
  ...transferRoutes,
  ...adminRoutes,
]

/** First words of OpenViking's routes that are not served here: an answer that names the route tells more than one that it is unknown. */
export const NOT_SERVED = new Set([
  'acl',
  'admin',
  'agent',
  'agent-evolution',
  'attrs',
  'bot',
  'code',
  'compile',
  'console',
  'content',
  'debug',
  'fs',
  'maintenance',
  'memory-relations',
  'observer',
  'pack',
  'privacy-configs',
  'relations',
  'resources',
  'search',
  'sessions',
  'skills',
  'snapshot',
  'stats',
  'system',
  'uploads',
  'user',
  'watches',
])
