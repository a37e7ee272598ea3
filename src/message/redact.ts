/**
 * Taking secrets out of texts. In the place of each stands a marker that says what it was, with a fingerprint of it: whoever reads can tell
 * that two of them were the same one. The fingerprint is made with a key, so that nobody without it can try which secret it is of.
 */
import { createHmac } from 'node:crypto'
import type { Json } from '../record/record.ts'
import { secretsIn } from './secrets.ts'

/** A value with the secrets in its texts taken out; the value itself if it has none. Names of fields stay. */
export type Redact = <T extends Json>(value: T) => T

export function redactor(key: string): Redact {
  const fingerprint = (secret: string): string => createHmac('sha256', key).update(secret).digest('hex').slice(0, 12)
  const inText = (text: string): string => {
    const secrets = secretsIn(text)
    if (secrets.length === 0) return text
    let [clean, end] = ['', 0]
    for (const { what, from, to } of secrets) {
      clean += `${text.slice(end, from)}[redacted ${what} ${fingerprint(text.slice(from, to))}]`
      end = to
    }
    return clean + text.slice(end)
  }
  const inValue = (value: Json): Json => {
    if (typeof value === 'string') return inText(value)
    if (value === null || typeof value !== 'object') return value
    if (Array.isArray(value)) {
      const items = value.map((item) => inValue(item as Json))
      return items.every((item, i) => item === value[i]) ? value : items
    }
    let changed: Record<string, Json> | undefined
    for (const [name, item] of Object.entries(value)) {
      const clean = inValue(item as Json)
      if (clean === item) continue
      changed ??= { ...value } as Record<string, Json>
      changed[name] = clean
    }
    return changed ?? value
  }
  return <T extends Json>(value: T): T => inValue(value) as T
}
