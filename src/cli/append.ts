/** `append`: one message, or a stream of them. */
import { HoldfastError } from '../errors.ts'
import { LIMITS } from '../record/limits.ts'
import { withoutUndefined } from '../server/without-undefined.ts'
import { acknowledge } from './acknowledge.ts'
import { wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'
import { decodeText } from './message-lines.ts'

interface Options {
  readonly role: string
  readonly messageId?: string
  readonly key?: string
  readonly expect?: string
  readonly jsonl?: string
}

export async function append(context: Context, [id, text]: [string, string?], options: Options): Promise<void> {
  const { jsonl, role, messageId, key, expect } = options
  if (jsonl !== undefined) {
    if (text !== undefined) throw wrongUsage('Give a text or --jsonl, not both.')
    if (messageId !== undefined || key !== undefined) {
      throw wrongUsage('--message-id and --key name one message. With --jsonl, give each message an "id" of its own.')
    }
    const { appendStream } = await import('./append-stream.ts')
    await appendStream(context, id, { from: jsonl, role, expect })
    return
  }
  const content = text ?? (await pipedText(context.signal))
  const session = (await context.write()).session(id)
  const appended = await session.append(
    { role, content },
    withoutUndefined({ ids: messageId === undefined ? undefined : [messageId], key, expect }),
  )
  await acknowledge(context, id, appended)
  if (appended.duplicate) context.out.note('It was there already.')
}

/** All of standard input, without the line break that `echo` puts behind a text. */
async function pipedText(signal: AbortSignal): Promise<string> {
  const { stdin } = process
  if (stdin.isTTY) throw wrongUsage('Give the text of the message, or pipe it to standard input.')
  signal.addEventListener('abort', () => stdin.destroy())
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > LIMITS.recordBytes) throw new HoldfastError('PAYLOAD_TOO_LARGE', `The text is longer than ${LIMITS.recordBytes} bytes.`)
  }
  signal.throwIfAborted()
  const text = decodeText(Buffer.concat(chunks), 'The text').replace(/\r?\n$/, '')
  if (text === '') throw wrongUsage('There is no text: standard input is empty.')
  return text
}
