/** Server-sent events out of a stream of bytes, as the standard has them: fields, an empty line behind each event. */

export interface ServerEvent {
  readonly id: string | undefined
  readonly type: string
  readonly data: string
}

/** Ends when the stream does; throws if it breaks. */
export async function* eventsIn(stream: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let waiting = ''
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      waiting += decoder.decode(value, { stream: true })
      const blocks = waiting.split('\n\n')
      waiting = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = eventOf(block)
        if (event !== undefined) yield event
      }
    }
  } finally {
    // Whoever stops reading lets go of the connection.
    await reader.cancel().catch(() => undefined)
  }
}

function eventOf(block: string): ServerEvent | undefined {
  let [id, type, data]: [string | undefined, string, string | undefined] = [undefined, 'message', undefined]
  for (const line of block.split('\n')) {
    const [, name, value = ''] = /^([^:]+)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name === 'id') id = value
    else if (name === 'event') type = value
    else if (name === 'data') data = data === undefined ? value : `${data}\n${value}`
  }
  return data === undefined ? undefined : { id, type, data }
}
