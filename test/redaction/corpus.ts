/**
 * A corpus for the redactor: texts such as agents and people write, with secrets in some of them, and with much that only looks like one.
 * Made by code from a seed, so that it is the same everywhere and no scanner finds a secret in the repository.
 */
import { crc32 } from 'node:zlib'
import { Prose } from '../../bench/real-looking.ts'

const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const DIGITS = '0123456789'
const HEX = `${DIGITS}abcdef`
const ALNUM = `${DIGITS}${LOWER.toUpperCase()}${LOWER}`
const URL_SAFE = `${ALNUM}-_`
const BASE64 = `${ALNUM}+/`
const BASE32 = `${LOWER.toUpperCase()}234567`

export type Random = () => number

/** Numbers from 0 up to 1, the same ones for the same seed. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return ((state ^ (state >>> 15)) >>> 0) / 2 ** 32
  }
}

function chars(random: Random, alphabet: string, length: number): string {
  let text = ''
  while (text.length < length) text += alphabet[Math.floor(random() * alphabet.length)]
  return text
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T
}

function base62Crc(body: string): string {
  let digits = ''
  for (let crc = crc32(body); crc > 0; crc = Math.floor(crc / 62)) digits = ALNUM[crc % 62] + digits
  return digits.padStart(6, '0')
}

function withBase62Crc(prefix: string, body: string): string {
  return `${prefix}${body}${base62Crc(body)}`
}

function pem(random: Random, kind: string): string {
  const body = Array.from({ length: 6 }, () => chars(random, BASE64, 64)).join('\n')
  return [`-----BEGIN ${kind}PRIVATE KEY-----`, body, `${chars(random, BASE64, 22)}==`, `-----END ${kind}PRIVATE KEY-----`].join('\n')
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Prefixes are joined here, so that they stand in no file beside what would follow them. */
const p = (...parts: readonly string[]): string => parts.join('')

/** A secret of each kind. */
export const SECRETS: Readonly<Record<string, (random: Random) => string>> = {
  'private key': (random) => pem(random, pick(random, ['', 'RSA ', 'EC ', 'OPENSSH '])),
  'github token': (random) => withBase62Crc(p('gh', pick(random, ['p', 'o', 'u', 's', 'r']), '_'), chars(random, ALNUM, 30)),
  'github fine-grained token': (random) => p('github', '_pat_', chars(random, ALNUM, 22), '_', chars(random, ALNUM, 59)),
  'gitlab token': (random) => p('gl', 'pat-', chars(random, ALNUM, 20)),
  'npm token': (random) => withBase62Crc(p('np', 'm_'), chars(random, ALNUM, 30)),
  'pypi token': (random) => p('py', 'pi-', 'AgEIcHlwaS5vcmc', chars(random, URL_SAFE, 120)),
  'holdfast key': (random) => {
    const head = p('h', 'f_', chars(random, HEX, 16), '_', chars(random, HEX, 64))
    return `${head}${crc32(head).toString(16).padStart(8, '0')}`
  },
  'hugging face token': (random) => p('h', 'f_', chars(random, ALNUM, 34)),
  'anthropic key': (random) => p('sk', '-ant-', 'api03-', chars(random, URL_SAFE, 93), 'AA'),
  'openai key': (random) => p('sk', '-proj-', chars(random, URL_SAFE, 74), 'T3Blbk', 'FJ', chars(random, URL_SAFE, 74)),
  'openrouter key': (random) => p('sk', '-or-v1-', chars(random, HEX, 64)),
  'api key': (random) => p('sk', '-', chars(random, ALNUM, 48)),
  'groq key': (random) => p('gs', 'k_', chars(random, ALNUM, 52)),
  'replicate token': (random) => p('r8', '_', chars(random, ALNUM, 37)),
  'aws key': (random) => p('AK', 'IA', chars(random, BASE32, 16)),
  'aws secret': (random) => chars(random, BASE64, 40),
  'azure key': (random) => p('Account', 'Key=', chars(random, BASE64, 86), '=='),
  'google key': (random) => p('AI', 'za', chars(random, URL_SAFE, 35)),
  'google secret': (random) => p('GOC', 'SPX-', chars(random, URL_SAFE, 28)),
  'slack token': (random) => p('xo', 'xb-', chars(random, DIGITS, 12), '-', chars(random, DIGITS, 12), '-', chars(random, ALNUM, 24)),
  'stripe key': (random) => p('sk', '_live_', chars(random, ALNUM, 24)),
  'sendgrid key': (random) => p('S', 'G.', chars(random, URL_SAFE, 22), '.', chars(random, URL_SAFE, 43)),
  'digitalocean token': (random) => p('dop', '_v1_', chars(random, HEX, 64)),
  'vault token': (random) => p('hv', 's.', chars(random, URL_SAFE, 95)),
  'xai key': (random) => p('xa', 'i-', chars(random, ALNUM, 80)),
  'perplexity key': (random) => p('pp', 'lx-', chars(random, ALNUM, 48)),
  'google token': (random) => p('ya', '29.', chars(random, URL_SAFE, 120)),
  'slack app token': (random) => p('xa', 'pp-1-A', chars(random, BASE32, 10), '-', chars(random, DIGITS, 13), '-', chars(random, HEX, 64)),
  'slack webhook': (random) =>
    p('https://hooks', '.slack.com/services/T', chars(random, BASE32, 9), '/B', chars(random, BASE32, 10), '/', chars(random, ALNUM, 24)),
  'webhook secret': (random) => p('wh', 'sec_', chars(random, ALNUM, 32)),
  'shopify token': (random) => p('shp', 'at_', chars(random, HEX, 32)),
  'databricks token': (random) => p('da', 'pi', chars(random, HEX, 32)),
  'age key': (random) => p('AGE-SECRET', '-KEY-1', chars(random, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)),
  'holdfast token': (random) => p('hf', 't_', chars(random, URL_SAFE, 90), '.', chars(random, URL_SAFE, 43)),
  'json web token': (random) =>
    `${encoded({ alg: 'HS256', typ: 'JWT' })}.${encoded({ sub: chars(random, DIGITS, 10), iat: 1_700_000_000 })}.${chars(random, URL_SAFE, 43)}`,
  'bearer token': (random) => chars(random, ALNUM, 40),
  'basic auth': (random) => Buffer.from(`${chars(random, LOWER, 6)}:${chars(random, ALNUM, 12)}`).toString('base64'),
  password: (random) => chars(random, ALNUM, 14),
}

/** Where secrets stand: what a text says around one. A form that is told by its surroundings has its own. */
const SURROUNDINGS: readonly ((secret: string) => string)[] = [
  (secret) => `my key is ${secret}, please use it`,
  (secret) => `export API_KEY="${secret}"\n`,
  (secret) => JSON.stringify({ settings: { key: secret, retries: 3 } }),
  (secret) => `curl -H 'X-Api-Key: ${secret}' https://api.test/v1`,
  (secret) => `+  apiKey: '${secret}',\n   model: 'x',`,
  (secret) => `Error: 401 for ${secret}.`,
  (secret) => JSON.stringify(JSON.stringify({ env: `A=1\n${secret}` })),
  (secret) => secret,
]
const OWN_SURROUNDINGS: Readonly<Record<string, (secret: string) => string>> = {
  'aws secret': (secret) => `aws_secret_access_key = ${secret}\n`,
  'bearer token': (secret) => `curl -H "Authorization: Bearer ${secret}" https://api.test`,
  'basic auth': (secret) => `Authorization: Basic ${secret}\r\n`,
  password: (secret) => `DATABASE_URL=postgres://app:${secret}@db.test:5432/app`,
}

/** What is no secret, though it is random, or looks like one, or speaks of one. */
const INNOCENT: readonly ((random: Random) => string)[] = [
  (random) => `commit ${chars(random, HEX, 40)}`,
  (random) => `sha256:${chars(random, HEX, 64)}`,
  (random) => `"integrity": "sha512-${chars(random, BASE64, 86)}=="`,
  (random) => `data:image/png;base64,${chars(random, BASE64, 400)}`,
  (random) =>
    `id ${chars(random, HEX, 8)}-${chars(random, HEX, 4)}-4${chars(random, HEX, 3)}-a${chars(random, HEX, 3)}-${chars(random, HEX, 12)}`,
  (random) => `call_${chars(random, ALNUM, 24)} toolu_01${chars(random, ALNUM, 22)} msg_${chars(random, ALNUM, 24)}`,
  (random) => `rsk-${chars(random, LOWER, 40)} task-${chars(random, ALNUM, 40)}`,
  (random) => withBase62Crc(p('gh', 'p_'), chars(random, ALNUM, 30)).replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
  () => `put ${p('gh', 'p_')}${'x'.repeat(36)} there`,
  () => `use ${p('sk', '-')}your-api-key-goes-here-and-nowhere-else-please`,
  () => `${p('sk', '-ant-', 'api03-')}${'x'.repeat(95)}`,
  () => `${p('AK', 'IA')}IOSFODNN7EXAMPLE`,
  () => 'Authorization: Bearer <token>, or Bearer YOUR_TOKEN, or Bearer $TOKEN',
  () => 'the bearer authentication-header-of-the-request is missing',
  () => 'postgres://user:password@localhost/db and https://user:***@host and redis://:$PASSWORD@cache',
  () => 'A file that begins with -----BEGIN PRIVATE KEY----- is a private key. Basic authentication is over.',
  () => '-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----',
  (random) => `eyJ${chars(random, URL_SAFE, 20)}.${chars(random, URL_SAFE, 30)}`,
  (random) => `https://host.test:8080/a?time=12:30@zone&sig=${chars(random, HEX, 32)}`,
  (random) => `const sk_live_example = 'npm_config_${chars(random, LOWER, 30)}'; hf_transfer_${chars(random, LOWER, 34)}`,
]

export interface Sample {
  readonly text: string
  /** What must not be left of it. */
  readonly secret?: string
  readonly kind?: string
}

/** So many texts: of ten, seven are plain, two look suspicious and are not, and one holds a secret. */
export function* corpus(seed: number, count: number): Generator<Sample> {
  const random = randomFrom(seed)
  const prose = new Prose(seed, 5000)
  const kinds = Object.keys(SECRETS)
  for (let i = 0; i < count; i++) {
    const [before, behind] = [prose.message(), prose.message()]
    const share = i % 10
    if (share === 0) {
      const kind = kinds[(i / 10) % kinds.length] as string
      const secret = (SECRETS[kind] as (random: Random) => string)(random)
      const around = OWN_SURROUNDINGS[kind] ?? pick(random, SURROUNDINGS)
      yield { text: `${before} ${around(secret)} ${behind}`, secret, kind }
    } else if (share < 3) yield { text: `${before}\n${pick(random, INNOCENT)(random)}\n${behind}` }
    else yield { text: `${before} ${behind}` }
  }
}

/** What a secret is at least told by: the first line of a long one that was escaped need not be all of it. */
export function isLeft(text: string, secret: string): boolean {
  const lines = secret.split('\n').filter((line) => !line.startsWith('-----'))
  return lines.some((line) => text.includes(line))
}
