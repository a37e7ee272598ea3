/** What an MCP server needs: a store, and what its agents may do. */
import type { SessionApi } from '../../store/api/session-api.ts'
import type { StoreApi } from '../../store/api/store-api.ts'

export interface McpStore extends Pick<StoreApi, 'list' | 'search'> {
  /** With `creates`, one that is missing may be about to be made. */
  session(id: string, options?: { readonly creates?: boolean }): SessionApi | Promise<SessionApi>
}

export interface McpOptions {
  readonly version: string
  /** Whether agents may also append, fork and commit. */
  readonly allowWrite: boolean
  /** Whether the connection lasts, so that changes can be sent over it. */
  readonly live: boolean
  /** Called with what a tool has written to. */
  readonly wrote?: (tool: string, session: string) => void
}
