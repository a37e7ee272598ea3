/** `mcp`: the store as a server of the Model Context Protocol, over standard input and output. */
import { createRequire } from 'node:module'
import { serveStdio } from '../adapters/mcp/connect.ts'
import type { Context } from './context.ts'

export async function mcp(context: Context, _: [], { allowWrite = false }: { readonly allowWrite?: boolean }): Promise<void> {
  const store = await (allowWrite ? context.write() : context.read())
  const { version } = createRequire(import.meta.url)('holdfast/package.json') as { version: string }
  await serveStdio(store, { version, allowWrite }, context.signal)
}
