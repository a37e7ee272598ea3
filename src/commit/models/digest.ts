/** What stands out in some messages: requests, results, facts, errors, questions. Sentences are chosen by their words, place and speaker. */
import type { DraftMemory, PromptMessage } from '../model.ts'
import { CORRECTION, DECISION, ERROR, FIX, PERSONAL, REQUEST } from './lexicon.ts'
import { MemoryDraft } from './memory-draft.ts'
import { referencesIn } from './references.ts'
import { clip, oneLine } from './sections.ts'
import { type Scan, type Sentence, scanSentences } from './sentences.ts'

export interface Digest {
  /** What the user asked for, in order, one for each message that asks. */
  readonly requests: readonly string[]
  /** The first of what the user said without asking for anything. */
  readonly opening: string | undefined
  /** The first thing that was said at all, however short. */
  readonly first: string | undefined
  /** What the assistant said last. */
  readonly state: readonly string[]
  /** The sentences that say most, the best first; more than are needed, since some of them are told elsewhere. */
  readonly facts: readonly Picked[]
  readonly references: readonly string[]
  readonly errors: readonly string[]
  /** Asked by the one while the other has not spoken since. */
  readonly userAsked: readonly string[]
  readonly assistantAsked: readonly string[]
  readonly userSpoke: boolean
  readonly assistantSpoke: boolean
  /** Names of tools by the ids of their calls. */
  readonly calls: ReadonlyMap<string, string>
  readonly results: ReadonlySet<string>
  readonly memories: readonly DraftMemory[]
}

export interface Picked {
  readonly text: string
  /** The higher, the later. */
  readonly place: number
}

/** Bytes of one item of an overview. */
const ITEM = 220
const STATE = 3
const FACTS = 12
const REFERENCES = 12
const ERRORS = 4
const QUESTIONS = 3
/** A shorter sentence says little. */
const LEAST_FACT = 24
const LEAST_REQUEST = 12
/** Of a longer sentence the rest is not looked at. */
const MOST_CHARACTERS = 600

const TOOL_LINE = /^\[(call|result|error) (\S{1,300})(?: ([\w.:/-]{1,100}))?/gm
const TOOL_START = /^\[(?:file|call|result|error) /
const TOOL_START_CHARACTERS = '[result '.length
const TOOL_HEAD = /^\[(?:result|error) \S{1,300} /
const IN_OUTPUT =
  /(?:Error|Exception|Fatal|FAIL(?:ED)?|Panic): |Traceback \(|^\[error |\bexit(?:ed with)? (?:code|status) [1-9]|^(?:fatal|panic|error)(?:\[\w+\])?: /
const NO_ERROR =
  /\b(?:no|not|0|zero|without|any|if|never)\s(?:\w+\s)?(?:errors?|exceptions?|failures?|fail(?:ed|s|ing)?|broken)\b|没有(?:错误|异常|失败)|エラー(?:は|が)?(?:な|あり)|如果|場合|もし|만약/i
const MARKUP = /^[\s#>*•+|-]*(?:\d{1,3}[.)] )?(?:\*\*)?/

/** A part of a message: what was said in it, or what tools were told and answered. */
interface Part {
  readonly role: string
  readonly text: string
  readonly message: PromptMessage
}

export function digest(messages: readonly PromptMessage[]): Digest {
  const parts = messages.flatMap(partsOf)
  const texts = parts.map(({ text }) => text)
  const scanned = scanSentences(texts)
  const pick = new Picker(parts, scanned)
  const { calls, results } = toolsOf(parts)
  const weights = parts.map(({ role }) => (role === 'user' ? 4 : role === 'assistant' ? 3 : 1))
  const references = referencesIn(texts, scanned.marks, weights)
    .toSorted((a, b) => b.weight - a.weight || b.last - a.last)
    .slice(0, REFERENCES)
    .toSorted((a, b) => a.last - b.last)
  const lastBy = (role: string): number => scanned.sentences.findLast(({ message }) => parts[message]?.role === role)?.message ?? -1
  const [lastUser, lastAssistant] = [lastBy('user'), lastBy('assistant')]
  return {
    ...pick.requests(),
    first: pick.first(),
    state: inOrder(pick.best(STATE, ({ message, code, question }) => message === lastAssistant && !code && !question)),
    facts: pick.best(FACTS, (sentence) => pick.isFact(sentence)),
    references: references.map(({ text }) => text),
    errors: pick.errors(),
    userAsked: pick.questions('user', lastAssistant),
    assistantAsked: pick.questions('assistant', lastUser),
    userSpoke: lastUser >= 0,
    assistantSpoke: lastAssistant >= 0,
    calls,
    results,
    memories: pick.memories(),
  }
}

/** The texts of some sentences as they followed each other, each once. */
export function inOrder(picked: readonly Picked[]): string[] {
  return [...new Set(picked.toSorted((a, b) => a.place - b.place).map(({ text }) => text))]
}

/** What was said, and behind it what tools were told and answered, which begins with the first line that promptOf wrote of them. */
function partsOf(message: PromptMessage): Part[] {
  const { role, text } = message
  const at = toolsAt(text)
  if (at === -1 || role === 'tool') return [{ role, text, message }]
  const tools = { role: 'tool', text: text.slice(at), message }
  return at === 0 ? [tools] : [{ role, text: text.slice(0, at), message }, tools]
}

function toolsAt(text: string): number {
  if (TOOL_START.test(text)) return 0
  // Most texts have no line that begins like that.
  for (let at = text.indexOf('\n['); at !== -1; at = text.indexOf('\n[', at + 1)) {
    if (TOOL_START.test(text.slice(at + 1, at + 1 + TOOL_START_CHARACTERS))) return at + 1
  }
  return -1
}

function toolsOf(parts: readonly Part[]): { calls: Map<string, string>; results: Set<string> } {
  const calls = new Map<string, string>()
  const results = new Set<string>()
  for (const { role, text } of parts) {
    if (role !== 'tool') continue
    for (const [, kind, id = '', name = 'tool'] of text.matchAll(TOOL_LINE)) {
      if (kind === 'call') calls.set(id.replace(/\]$/, ''), name)
      else results.add(id.replace(/\]$/, ''))
    }
  }
  return { calls, results }
}

class Picker {
  readonly #parts: readonly Part[]
  readonly #scan: Scan
  readonly #scores: Float64Array

  constructor(parts: readonly Part[], scanned: Scan) {
    this.#parts = parts
    this.#scan = scanned
    this.#scores = scoresOf(parts, scanned)
  }

  /** The best sentences of those that may be chosen, the best first. */
  best(count: number, may: (sentence: Sentence) => boolean): Picked[] {
    const { sentences } = this.#scan
    const scores = this.#scores
    const top: number[] = []
    for (let i = 0; i < sentences.length; i++) {
      const score = scores[i] as number
      if (score <= 0 || (top.length === count && score <= (scores[top[count - 1] as number] as number))) continue
      if (!may(sentences[i] as Sentence)) continue
      let place = top.length
      while (place > 0 && (scores[top[place - 1] as number] as number) < score) place--
      top.splice(place, 0, i)
      if (top.length > count) top.pop()
    }
    return top.map((i) => ({ text: this.#text(sentences[i] as Sentence), place: i })).filter(({ text }) => text !== '')
  }

  isFact(sentence: Sentence): boolean {
    const { message, code, question, start, end } = sentence
    if (code || question || !this.#isLong(sentence, LEAST_FACT)) return false
    const { role, text } = this.#parts[message] as Part
    // A line that ends with a colon only announces what follows.
    return role !== 'tool' && role !== 'system' && !/[:：]$/.test(text.slice(Math.max(start, end - 2), end).trimEnd())
  }

  requests(): Pick<Digest, 'requests' | 'opening'> {
    const asks = new Map<number, Sentence>()
    let opening: Sentence | undefined
    for (const sentence of this.#scan.sentences) {
      const { message, flags, code } = sentence
      if (code || this.#parts[message]?.role !== 'user' || asks.has(message) || !this.#isLong(sentence, LEAST_REQUEST)) continue
      if ((flags & (REQUEST | CORRECTION)) !== 0) asks.set(message, sentence)
      else opening ??= sentence
    }
    return { requests: [...asks.values()].map((one) => this.#text(one)), opening: opening && this.#text(opening) }
  }

  first(): string | undefined {
    const said = this.#scan.sentences.find(({ message, code }) => !code && /^(?:user|assistant)$/.test(this.#parts[message]?.role ?? ''))
    return said && this.#text(said)
  }

  /** The last errors, each with the correction that followed it, and corrections by the user. */
  errors(): string[] {
    const { sentences } = this.#scan
    const found: string[] = []
    let fix: Sentence | undefined
    let output = -1
    for (let i = sentences.length - 1; i >= 0 && found.length < ERRORS; i--) {
      const sentence = sentences[i] as Sentence
      const role = this.#parts[sentence.message]?.role
      // Of a tool's output the last line that tells of an error is the error; those before it tell where it happened.
      if (sentence.message !== output && this.#isError(sentence)) {
        if (role === 'tool') output = sentence.message
        const text = this.#text(sentence)
        const mended = (sentence.flags & FIX) !== 0 || fix === undefined ? undefined : this.#text(fix)
        const item = mended === undefined ? text : `${clip(text, ITEM / 2)} → ${clip(mended, ITEM / 2)}`
        if (text !== '' && !found.includes(item)) found.push(item)
        fix = undefined
      } else if ((sentence.flags & CORRECTION) !== 0 && role === 'user' && !sentence.question && !sentence.code) {
        found.push(clip(`User corrected: ${this.#text(sentence)}`, ITEM))
      }
      if ((sentence.flags & FIX) !== 0 && role === 'assistant' && !sentence.code && !sentence.question) fix = sentence
    }
    return found.reverse()
  }

  #isError({ message, flags, code, question, start, end }: Sentence): boolean {
    if ((flags & ERROR) === 0 || question) return false
    const { role, text } = this.#parts[message] as Part
    const shown = text.slice(start, Math.min(end, start + MOST_CHARACTERS))
    // What a program prints, and code, speaks of errors all the time.
    return role === 'tool' || code ? IN_OUTPUT.test(shown) : role !== 'system' && !NO_ERROR.test(shown)
  }

  /** What somebody asked in messages behind one of the other's. */
  questions(role: string, behind: number): string[] {
    const asked = this.#scan.sentences.filter(
      ({ message, question, code }) => question && !code && message > behind && this.#parts[message]?.role === role,
    )
    return asked.slice(-QUESTIONS).map((sentence) => this.#text(sentence))
  }

  memories(): DraftMemory[] {
    const draft = new MemoryDraft()
    for (const { message, flags, code, question, start, end } of this.#scan.sentences) {
      if ((flags & PERSONAL) === 0 || code || question) continue
      const { role, text, message: from } = this.#parts[message] as Part
      if (role === 'user' && from.extract) draft.add(oneLine(text.slice(start, Math.min(end, start + MOST_CHARACTERS))), from.id)
    }
    return draft.memories()
  }

  #text({ message, start, end }: Sentence): string {
    const { role, text } = this.#parts[message] as Part
    const shown = text.slice(start, Math.min(end, start + MOST_CHARACTERS))
    const bare = role === 'tool' ? shown.replace(TOOL_HEAD, '').replace(/\]$/, '') : shown.replace(MARKUP, '').replaceAll('**', '')
    return clip(oneLine(bare), ITEM)
  }

  /** In scripts without spaces fewer characters say as much. */
  #isLong({ message, start, end }: Sentence, characters: number): boolean {
    if (end - start >= characters) return true
    return end - start >= characters / 3 && /[\u3041-\ud7ff]/.test(this.#parts[message]?.text.slice(start, end) ?? '')
  }
}

/** The more a sentence's terms occur elsewhere, the more it tells; decisions, beginnings, the user and the ends of the whole count more. */
function scoresOf(parts: readonly Part[], { sentences, terms, count: all, counts }: Scan): Float64Array {
  const scores = new Float64Array(sentences.length)
  for (let i = 0; i < sentences.length; i++) {
    const { message, flags, first, terms: from } = sentences[i] as Sentence
    const to = sentences[i + 1]?.terms ?? all
    const role = parts[message]?.role
    if (to === from || role === 'tool' || role === 'system') continue
    let sum = 0
    // The first terms are enough to judge a sentence that has thousands.
    const count = Math.min(to - from, 100)
    for (let t = from; t < from + count; t++) sum += Math.min(counts[terms[t] as number] as number, 10)
    const place = (message < 3 ? 1.2 : 1) * (message >= parts.length - 4 ? 1.2 : 1) * (first ? 1.25 : 1)
    const weight = ((flags & DECISION) === 0 ? 1 : 1.5) * (role === 'user' ? 1.15 : 1)
    scores[i] = (sum / (count + 6)) * place * weight
  }
  return scores
}
