import { expect, test } from 'vitest'
import { redactor } from '../../src/message/redact.ts'
import { corpus, isLeft, randomFrom, SECRETS } from './corpus.ts'

const redact = redactor('a key')

function secret(kind: string, seed = 1): string {
  return (SECRETS[kind] as (random: () => number) => string)(randomFrom(seed))
}

test.each(Object.keys(SECRETS).filter((kind) => !['aws secret', 'bearer token', 'basic auth', 'password'].includes(kind)))(
  'a %s is found wherever it stands',
  (kind) => {
    for (let seed = 1; seed <= 50; seed++) {
      const one = secret(kind, seed)
      for (const text of [one, `use ${one}.`, `{"key":"${one.replaceAll('\n', '\\n')}"}`, `a\n${one}\nb`]) {
        const clean = redact(text)
        expect(isLeft(clean, one), clean).toBe(false)
        expect(clean).toMatch(/\[redacted [a-z0-9 ]+ [0-9a-f]{12}\]/)
      }
    }
  },
)

test('of a corpus, all secrets are found and nothing else', () => {
  const wrong = [...corpus(7, 4000)].filter(({ text, secret: one }) =>
    one === undefined ? redact(text) !== text : isLeft(redact(text), one),
  )
  expect(wrong).toEqual([])
})

test('the same secret has the same marker, another one another, and another key tells other markers', () => {
  const [one, other] = [secret('github token', 1), secret('github token', 2)]
  const [first, second, third] = redact([`a ${one}`, `${one} b`, other]).map((text) => /[0-9a-f]{12}/.exec(text)?.[0])
  expect(second).toBe(first)
  expect(third).not.toBe(first)
  expect(redactor('other')(one)).not.toBe(redact(one))
})

test('what was redacted once is left alone', () => {
  for (const { text } of corpus(3, 1000)) expect(redact(redact(text))).toBe(redact(text))
})

test('a value without secrets is the very same value, and of one with a secret the rest stays', () => {
  const plain = { role: 'user', content: [{ type: 'text', text: 'hi' }], n: 1, nothing: null }
  expect(redact(plain)).toBe(plain)
  const one = secret('stripe key')
  const message = JSON.parse(`{"__proto__":"${one}","deep":[[{"x":"${one}"}]],"n":1,"content":${JSON.stringify(plain.content)}}`)
  const clean = redact(message)
  expect(JSON.stringify(clean)).not.toContain(one)
  expect(Object.keys(clean)).toEqual(Object.keys(message))
  expect(clean.content).toBe(message.content)
})

test('a token whose checksum is wrong is no token', () => {
  const one = secret('github token')
  expect(redact(one)).not.toBe(one)
  const wrong = one.slice(0, -1) + (one.endsWith('a') ? 'b' : 'a')
  expect(redact(wrong)).toBe(wrong)
})

test('a text made to be slow is not', () => {
  const begun = process.cpuUsage()
  for (const piece of [
    '-----BEGIN PRIVATE KEY-----\\n',
    'a://b:c',
    'Bearer ',
    'sk-',
    'eyJeyJ.',
    '-----BEGIN A A A PRIVATE KEY-----\nAaaa: b\n',
    '-eyJ',
    '-eyJabcdefghi',
    '-hft_',
    '-sk-T3BlbkFJ',
    '-glpat-abcdefghijklmnopq',
  ]) {
    redact(piece.repeat(20_000))
    redact(piece + 'A'.repeat(500_000))
    redact(piece + 'A1 \\n'.repeat(100_000))
  }
  expect(process.cpuUsage(begun).user / 1000).toBeLessThan(10_000)
})

test('headers that could be divided in many ways do not make a private key slow', () => {
  const begun = process.cpuUsage()
  redact(`-----BEGIN PRIVATE KEY-----\n${`Aaaa: ${'a '.repeat(34)}\n`.repeat(5)}`)
  expect(process.cpuUsage(begun).user / 1000).toBeLessThan(1000)
})

test.each([
  ['headers on lines of their own', 'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123ABCD\n\n'],
  ['a comment of several words', 'Version: GnuPG v2\nComment: made by hand\n\n'],
  ['headers on one line', 'Proc-Type: 4,ENCRYPTED DEK-Info: AES-128-CBC,0123ABCD '],
  ['headers of JSON inside a text', 'Proc-Type: 4,ENCRYPTED\\n\\n'],
])('a private key with %s is redacted whole', (_, headers) => {
  const [begin, ...rest] = secret('private key').split('\n')
  const text = `before ${begin}\n${headers}${rest.join('\n')} after`
  expect(redact(text)).toMatch(/^before \[redacted private key [0-9a-f]{12}\] after$/)
})

test('a token is found after others that only look like one', () => {
  const one = secret('github token')
  expect(redact(`ghp_short-glpat-x-sk-y ${one}`)).toMatch(/\[redacted github token/)
  expect(redact(`-eyJ-sk-eyJ-${one}`)).toMatch(/\[redacted github token/)
})
