/**
 * A JSON value as text: what a caller handed in, as it was at that moment, whatever becomes of the original. It goes into a record line as
 * it is, so a message is turned into text once, and is parsed only if somebody looks into it.
 */
import { hash } from 'node:crypto'
import type { Json } from '../record/record.ts'

export class JsonText {
  #text: string | undefined
  #bytes: (() => Buffer) | undefined
  #digest: string | undefined

  /** `digest`: as `digestOf` would tell it, where that is known already. */
  constructor(text: string | (() => Buffer), digest?: string) {
    if (typeof text === 'string') this.#text = text
    else this.#bytes = text
    this.#digest = digest
  }

  get text(): string {
    this.#text ??= this.#bytes?.().toString('utf8') ?? ''
    return this.#text
  }

  get value(): Json {
    return JSON.parse(this.text) as Json
  }

  get digest(): string {
    this.#digest ??= digestOfText(this.text)
    return this.#digest
  }

  toJSON(): Json {
    return this.value
  }
}

/** Tells whether two bodies are the same, as JSON writes them. */
export function digestOf(body: Json | JsonText): string {
  return body instanceof JsonText ? body.digest : digestOfText(JSON.stringify(body))
}

function digestOfText(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32)
}
