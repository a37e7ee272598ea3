/**
 * What is needed of the protocol's own package, in one place: when Holdfast is built, this module is replaced by one that holds all of it,
 * so that nobody has to install that package and the many that it brings along.
 */
export { completable } from '@modelcontextprotocol/sdk/server/completable.js'
export { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
export { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
export { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
export { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js'
