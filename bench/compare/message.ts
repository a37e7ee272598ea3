/** Messages that their id decides, so that whoever reads one back knows what it must be. */
import { crc32 } from 'node:zlib'
import { Prose } from '../real-looking.ts'
import type { Message } from './contender.ts'

/** Stands in hardly any message, and is searched for. */
export const RARE_WORD = 'halyard'

const PROSE_BYTES = 256 * 1024
let prose = ''

export function messageOf(id: string, { bytes = 1024, rare = false } = {}): Message {
  if (prose === '') {
    const source = new Prose(1)
    const parts: string[] = []
    for (let length = 0; length < PROSE_BYTES; length += parts.at(-1)?.length ?? 0) parts.push(source.message())
    prose = parts.join(' ')
  }
  const start = crc32(id) % (prose.length - bytes)
  const text = `${id}: ${rare ? `${RARE_WORD} ` : ''}${prose.slice(start, start + bytes)}`
  // Through JSON, as messages come: a slice of a longer text takes longer to encode.
  return JSON.parse(JSON.stringify({ id, role: 'assistant', content: text })) as Message
}

/** So many of one session, of which very few have the word. */
export function messagesOf(prefix: string, count: number): Message[] {
  return Array.from({ length: count }, (_, n) => messageOf(`${prefix}-${n}`, { rare: n % 20_000 === 77 }))
}
