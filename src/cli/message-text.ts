/** A stored message as people see it. */
import type { KeptMessage } from '../store/messages/stored-message.ts'
import type { Output } from './output.ts'
import { readable, roleOf } from './readable.ts'
import { inBlock, inLine, relativeTime } from './terminal.ts'

type Shown = Pick<KeptMessage, 'id' | 'at' | 'archive' | 'message'>

export function messageText({ id, at, archive, message }: Shown, colours: Output['colours']): string {
  const facts = `${relativeTime(at, Date.now())}  ${inLine(id)}${archive === null ? '' : `  archive ${archive}`}`
  return `${colours.bold(inLine(roleOf(message)))}  ${colours.dim(facts)}\n${indented(readable(message))}`
}

/** Every line of the content is indented, so that none can pass for the head of another message. */
export function indented(text: string): string {
  const block = inBlock(text)
  return block === '' ? '' : `${block.replace(/^/gm, '  ')}\n`
}
