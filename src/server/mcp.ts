/** The Model Context Protocol over HTTP: each request is whole in itself, so there is nothing to open or to keep. */
import { readJson } from './body.ts'
import { includes } from './principal.ts'
import type { Route } from './route.ts'
import * as schemas from './schemas.ts'

export const MCP_ROUTE: Route = {
  method: 'post',
  path: '/mcp',
  tag: 'mcp',
  summary: 'The Model Context Protocol, streamable HTTP without sessions.',
  scope: 'read',
  // What agents see is told apart by space alone.
  reach: 'space',
  result: schemas.Written,
  handle: async ({ c, parts, principal, store }) => {
    // Loaded with the first request of an agent: most servers never have one.
    const { answerHttp } = await import('../adapters/mcp/connect.ts')
    const allowWrite = parts.mcpWrite && includes(principal.scope, 'write')
    return answerHttp(store, { version: parts.version, allowWrite }, c.req.raw, await readJson(c))
  },
}
