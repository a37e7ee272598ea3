/**
 * Memories from what a user says of himself, by rules that would rather miss one than invent one: each must match a clause from its first
 * word. The key is made of the topic, so that the same said otherwise later replaces it, and a retraction finds it.
 */
import type { DraftMemory } from '../model.ts'
import { RULES, type Topic } from './memory-rules.ts'
import { clip } from './sections.ts'

const MOST = 50
const TEXT_BYTES = 400
const KEY_CHARACTERS = 80

/** Words before a clause that change nothing about it. */
const LEAD =
  /^(?:(?:hi|hello|hey|ok|okay|oh|well|so|and|but|also|please|btw|by the way|fyi|just so you know|for the record|另外|还有|对了|顺便说一下|你好|您好|はい|ちなみに|あと|それと|참고로|그리고|안녕하세요)[\s,，、!！:]*)+/i
const BETWEEN =
  /[,;，；、。](?:\s*(?:and|but)\b)?\s*(?=(?:i|i'm|my|please|always|never|call|remember)\b|我|请|請|私|저는|제)|\s(?:and|but)\s(?=(?:i|i'm|my|please|always|never)\b)/i

const RETRACTION: readonly RegExp[] = [
  /^(?:please )?forget (?:that |about )?(.{3,})$/i,
  /^(i(?:'m| am)?) no longer (.{3,})$/i,
  /^(i) (?:do not|don't) (.{3,}) any ?more$/i,
  /^(?:请|請)?(?:忘掉|忘记|忘記)(.{2,})$/,
  /^(我)(?:已经|已經)?不再(.{2,})$/,
  /^(.{2,}?)(?:のこと|という(?:の|こと))?(?:は|を)忘れて(?:ください)?$/,
  /^(.{2,}?)(?:것|거)?(?:은|는|을|를)? ?잊어 ?(?:줘|주세요)$/,
]

export class MemoryDraft {
  readonly #byKey = new Map<string, { key: string; category: string; text?: string; sources: string[] }>()

  /** Takes what one sentence of a message says, if it says anything worth keeping. */
  add(sentence: string, source: string): void {
    for (const part of sentence.split(BETWEEN)) {
      const clause = part
        .replaceAll('’', "'")
        .replace(LEAD, '')
        .replace(/[\s.!。！…~～]+$/, '')
      const retracted = retractedBy(clause)
      if (retracted !== undefined) this.#put(retracted, undefined, source)
      else {
        const topic = topicOf(clause)
        if (topic !== undefined) this.#put(topic, clause, source)
      }
    }
  }

  memories(): DraftMemory[] {
    return [...this.#byKey.values()].slice(-MOST)
  }

  #put({ category, name }: Topic, text: string | undefined, source: string): void {
    const key = `${category}: ${name}`
    // Taken out first: the order is that of the last change.
    this.#byKey.delete(key)
    this.#byKey.set(key, { key, category, ...(text === undefined ? {} : { text: clip(text, TEXT_BYTES) }), sources: [source] })
  }
}

function retractedBy(clause: string): Topic | undefined {
  for (const pattern of RETRACTION) {
    const match = pattern.exec(clause)
    if (match === null) continue
    // "I no longer like tea" takes back "I like tea"; what is forgotten need not be a whole clause: "forget my birthday".
    const rest = match
      .slice(1)
      .filter((part) => part !== undefined)
      .join(/^[我]/.test(clause) ? '' : ' ')
    return topicOf(rest) ?? topicOf(`${rest} is unknown`) ?? topicOf(`remember that ${rest}`)
  }
  return undefined
}

function topicOf(clause: string): Topic | undefined {
  for (const { pattern, topic } of RULES) {
    const match = pattern.exec(clause)
    const found = match === null ? undefined : topic(match)
    if (found !== undefined && found.name !== '') return { category: found.category, name: found.name.slice(0, KEY_CHARACTERS).trim() }
  }
  return undefined
}
