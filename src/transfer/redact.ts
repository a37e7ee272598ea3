/** Keys and passwords that look like what they are, taken out of texts. What does not look like one stays: this is a net, not a promise. */
import type { Json } from '../record/record.ts'

const KEYS: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['private key', /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g],
  ['key', /\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{16,}/g],
  ['token', /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})/g],
  ['token', /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g],
  ['key', /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g],
  ['key', /\bAIza[A-Za-z0-9_-]{30,}/g],
  ['token', /\b(?:hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,})/g],
  ['key', /\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}/g],
  ['token', /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g],
  ['token', /(?<=\bBearer\s)[A-Za-z0-9._~+/-]{16,}=*/g],
  ['password', /(?<=\b[a-z][a-z0-9+.-]*:\/\/[^\s:/@]*:)[^\s@/]+(?=@)/g],
]

function redactText(text: string): string {
  let left = text
  for (const [what, pattern] of KEYS) left = left.replace(pattern, `[redacted ${what}]`)
  return left
}

/** Every text in a value; names of fields stay. */
export function redact<T extends Json>(value: T): T {
  if (typeof value === 'string') return redactText(value) as T
  if (Array.isArray(value)) return value.map((item) => redact(item as Json)) as unknown as T
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redact(item as Json)])) as T
}
