/** A session for people to read: what the renderers are given. */
import { asText, type MessageView } from '../../message/message.ts'

export interface PageHead {
  readonly session: string
  readonly title: string | null
  readonly createdAt: string
  readonly updatedAt: string
  readonly messageCount: number
}

export interface PageMessage {
  readonly id: string
  readonly at: string
  readonly archive: number | null
  readonly view: MessageView
}

/** The parts of a message, each with what it is. */
export function partsOf({ text, reasoning, calls, results, media }: MessageView): { kind: string; label: string; text: string }[] {
  return [
    ...(reasoning === '' ? [] : [{ kind: 'reasoning', label: 'reasoning', text: reasoning }]),
    ...(text === '' ? [] : [{ kind: 'text', label: '', text }]),
    ...media.map((address) => ({ kind: 'media', label: 'file', text: address })),
    ...calls.map(({ name, input }) => ({ kind: 'call', label: `calls ${name}`, text: asText(input) })),
    ...results.map(({ name, output, failed }) => ({
      kind: 'result',
      label: `${failed ? 'error' : 'result'}${name === null ? '' : ` of ${name}`}`,
      text: asText(output),
    })),
  ]
}
