/** The Model Context Protocol over HTTP: each request is whole in itself, so there is nothing to open or to keep. */
import type { McpStore } from '../adapters/mcp/options.ts'
import type { Store } from '../store/store.ts'
import { readJson } from './body.ts'
import { includes } from './principal.ts'
import type { Route } from './route.ts'
import * as schemas from './schemas.ts'
import { requireOwner } from './serve-route.ts'

export const MCP_ROUTE: Route = {
  method: 'post',
  path: '/mcp',
  tag: 'mcp',
  summary: 'The Model Context Protocol, streamable HTTP without sessions.',
  scope: 'read',
  reach: 'own',
  result: schemas.Written,
  handle: async ({ c, parts, principal, store, holding }) => {
    // Loaded with the first request of an agent: most servers never have one.
    const { answerHttp } = await import('../adapters/mcp/connect.ts')
    const allowWrite = parts.mcpWrite && includes(principal.scope, 'write')
    const { id: key, space, owner } = principal
    const wrote = (tool: string, session: string): void => {
      parts.audit.count({ key, space, action: `POST /mcp ${tool}`, session, status: 200, request: '' })
      parts.worker?.wake()
    }
    const visible = owner === null ? store : ofOwner(store, owner)
    return answerHttp(visible, { version: parts.version, allowWrite, wrote }, c.req.raw, await readJson(c, holding))
  },
}

/** The sessions of one owner, and no sign of any others. */
function ofOwner(store: Store, owner: string): McpStore {
  return {
    list: (options) => store.list({ ...options, owner }),
    search: (words, options) => store.search(words, { ...options, owner }),
    session: async (id, { creates = false } = {}) => {
      await requireOwner(store, id, owner, creates)
      return store.session(id)
    },
  }
}
