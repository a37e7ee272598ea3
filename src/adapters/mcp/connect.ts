/** Where the protocol's server meets its two transports. */
import type { McpOptions, McpStore } from './options.ts'
import { StdioServerTransport, WebStandardStreamableHTTPServerTransport } from './sdk.ts'
import { makeMcpServer } from './server.ts'

/** Speaks over standard input and output; resolves when the other side has left and has its answers, or when it is told to end. */
export async function serveStdio(store: McpStore, options: Omit<McpOptions, 'live'>, signal: AbortSignal): Promise<void> {
  const server = makeMcpServer(store, { ...options, live: true })
  const transport = new StdioServerTransport()
  await server.connect(transport)
  const asked = new Set<string | number>()
  const left = new Promise<void>((resolve) => {
    let ended = false
    const endIfDone = (): void => {
      if (ended && asked.size === 0) resolve()
    }
    const { onmessage } = transport
    transport.onmessage = (message) => {
      if ('method' in message && 'id' in message) asked.add(message.id)
      onmessage?.(message)
    }
    const send = transport.send.bind(transport)
    transport.send = async (message) => {
      await send(message)
      if (!('method' in message) && message.id !== undefined) asked.delete(message.id)
      endIfDone()
    }
    process.stdin.once('end', () => {
      ended = true
      endIfDone()
    })
    signal.addEventListener('abort', () => resolve(), { once: true })
    if (signal.aborted) resolve()
  })
  await left
  await server.close()
}

/** Answers one request. Nothing is kept between two of them, so any server of a store can answer any. */
export async function answerHttp(store: McpStore, options: Omit<McpOptions, 'live'>, request: Request, body: unknown): Promise<Response> {
  const server = makeMcpServer(store, { ...options, live: false })
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    return await transport.handleRequest(request, { parsedBody: body })
  } finally {
    await server.close()
  }
}
