/**
 * What secrets look like: keys and tokens that tell by their form what they are, private keys, and passwords in addresses. Each form has an
 * anchor, a text that stands in nothing else as a rule; only where one stands is the form compared, and then whatever else can be told of
 * it: a checksum, a header that must be JSON, whether it is a random text or the words of a manual. So a text without secrets costs one
 * pass over it, and hardly anything is taken for a secret that is none. What has no form of its own, such as a password in a sentence, is
 * not found. No text takes longer than its length: a pattern reads each character once, and of the anchors in one run of letters and digits,
 * only the first few are compared.
 */
import { crc32 } from 'node:zlib'
import { privateKeyEnd } from './private-key.ts'

/** A stretch of a text that is a secret. */
export interface Secret {
  readonly what: string
  readonly from: number
  readonly to: number
}

interface Form {
  /** As the marker in its place names it. */
  readonly what: string
  readonly anchors: readonly string[]
  /** Compared at the anchor. Its group `secret` is the secret; without such a group, all of it. Or where the secret that begins there ends. */
  readonly pattern: RegExp | ((text: string, at: number) => number | undefined)
  /** Whether what has the form is one. That it is random, unless told. */
  readonly isOne?: (secret: string) => boolean
  /** It may follow a letter, a digit or a line. */
  readonly inside?: boolean
}

export const FORMS: readonly Form[] = [
  { what: 'private key', anchors: ['-----BEGIN '], pattern: privateKeyEnd, inside: true },
  {
    what: 'github token',
    anchors: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'],
    pattern: /gh[pousr]_[A-Za-z0-9]{36}(?![A-Za-z0-9])/y,
    isOne: hasBase62Crc,
  },
  { what: 'github token', anchors: ['github_pat_'], pattern: /github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}(?![A-Za-z0-9])/y },
  { what: 'gitlab token', anchors: ['glpat-'], pattern: /glpat-[A-Za-z0-9_-]{20,100}(?:\.[A-Za-z0-9.]{4,40})?/y },
  { what: 'npm token', anchors: ['npm_'], pattern: /npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])/y, isOne: hasBase62Crc },
  { what: 'pypi token', anchors: ['pypi-'], pattern: /pypi-Ag(?:EIcHlwaS5vcmc|ENdGVzdC5weXBpLm9yZw)[A-Za-z0-9_-]{50,500}/y },
  { what: 'holdfast key', anchors: ['hf_'], pattern: /hf_[0-9a-f]{16}_[0-9a-f]{72}(?![0-9a-f])/y, isOne: hasHexCrc },
  { what: 'holdfast token', anchors: ['hft_'], pattern: /hft_(?=([A-Za-z0-9_-]{40,2000}))\1\.[A-Za-z0-9_-]{20,200}/y },
  { what: 'hugging face token', anchors: ['hf_'], pattern: /hf_[A-Za-z0-9]{34,40}(?![A-Za-z0-9_])/y },
  { what: 'anthropic key', anchors: ['sk-'], pattern: /sk-ant-[a-z]{3,8}\d{2}-[A-Za-z0-9_-]{32,200}/y },
  {
    what: 'openai key',
    anchors: ['sk-'],
    pattern: /sk-[A-Za-z0-9_-]{48,416}/y,
    isOne: (secret) => isRandom(secret) && secret.slice(23, -20).includes('T3BlbkFJ'),
  },
  { what: 'openrouter key', anchors: ['sk-'], pattern: /sk-or-v1-[0-9a-f]{64}(?![0-9a-f])/y },
  { what: 'api key', anchors: ['sk-'], pattern: /sk-(?:proj-)?[A-Za-z0-9]{32,200}(?![A-Za-z0-9_-])/y },
  { what: 'groq key', anchors: ['gsk_'], pattern: /gsk_[A-Za-z0-9]{48,56}(?![A-Za-z0-9])/y },
  { what: 'xai key', anchors: ['xai-'], pattern: /xai-[A-Za-z0-9]{70,90}(?![A-Za-z0-9])/y },
  { what: 'replicate token', anchors: ['r8_'], pattern: /r8_[A-Za-z0-9]{37}(?![A-Za-z0-9])/y },
  { what: 'perplexity key', anchors: ['pplx-'], pattern: /pplx-[A-Za-z0-9]{40,60}(?![A-Za-z0-9])/y },
  { what: 'aws key', anchors: ['AKIA', 'ASIA'], pattern: /A(?:KIA|SIA)[A-Z2-7]{16}(?![A-Za-z0-9])/y },
  {
    what: 'aws secret',
    anchors: ['aws_secret_access_key', 'AWS_SECRET_ACCESS_KEY', 'SecretAccessKey', 'secretAccessKey'],
    pattern: /[A-Za-z_]{15,21}[\\"'\s]{0,6}[:=][\\"'\s]{0,6}(?<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/y,
  },
  { what: 'azure key', anchors: ['AccountKey='], pattern: /AccountKey=(?<secret>[A-Za-z0-9+/]{86}==)/y },
  { what: 'google key', anchors: ['AIza'], pattern: /AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])/y },
  { what: 'google secret', anchors: ['GOCSPX-'], pattern: /GOCSPX-[A-Za-z0-9_-]{28}(?![A-Za-z0-9_-])/y },
  { what: 'google token', anchors: ['ya29.'], pattern: /ya29\.[A-Za-z0-9_-]{30,2000}/y },
  {
    what: 'slack token',
    anchors: ['xoxa-', 'xoxb-', 'xoxe-', 'xoxp-', 'xoxr-', 'xoxs-'],
    pattern: /xox[abeprs]-(?:\d-)?(?:\d{6,20}-){0,3}[A-Za-z0-9]{20,200}/y,
  },
  { what: 'slack token', anchors: ['xapp-'], pattern: /xapp-\d-[A-Z0-9]{6,20}-\d{6,20}-[a-f0-9]{40,100}/y },
  {
    what: 'slack webhook',
    anchors: ['hooks.slack.com/'],
    pattern: /hooks\.slack\.com\/(?:services|workflows)\/(?<secret>T[A-Z0-9]{6,20}\/[A-Z0-9]{6,20}(?:\/\d{1,30})?\/[A-Za-z0-9]{16,60})/y,
  },
  { what: 'stripe key', anchors: ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_'], pattern: /[sr]k_(?:live|test)_[A-Za-z0-9]{24,250}/y },
  { what: 'webhook secret', anchors: ['whsec_'], pattern: /whsec_[A-Za-z0-9+/]{32,100}={0,2}/y },
  { what: 'sendgrid key', anchors: ['SG.'], pattern: /SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])/y },
  { what: 'digitalocean token', anchors: ['dop_v1_', 'doo_v1_', 'dor_v1_'], pattern: /do[por]_v1_[0-9a-f]{64}(?![0-9a-f])/y },
  {
    what: 'shopify token',
    anchors: ['shpat_', 'shpca_', 'shppa_', 'shpss_'],
    pattern: /shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}(?![0-9a-fA-F])/y,
  },
  { what: 'databricks token', anchors: ['dapi'], pattern: /dapi[0-9a-f]{32}(?:-\d)?(?![0-9a-f])/y },
  { what: 'vault token', anchors: ['hvs.', 'hvb.'], pattern: /hv[sb]\.[A-Za-z0-9_-]{24,300}/y },
  { what: 'age key', anchors: ['AGE-SECRET-KEY-1'], pattern: /AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}(?![A-Z0-9])/y },
  {
    what: 'json web token',
    anchors: ['eyJ'],
    pattern: /eyJ(?=([A-Za-z0-9_-]{8,2000}))\1\.eyJ(?=([A-Za-z0-9_-]{8,8000}))\2\.[A-Za-z0-9_-]{16,2000}/y,
    isOne: hasJwtHeader,
  },
  {
    what: 'bearer token',
    anchors: ['Bearer ', 'bearer ', 'BEARER '],
    pattern: /[Bb][Ee][Aa][Rr][Ee][Rr] {1,8}(?<secret>[A-Za-z0-9._~+/-]{20,8000}={0,2})/y,
    isOne: (secret) => isRandom(secret) && /\d/.test(secret) && /[A-Za-z]/.test(secret),
  },
  {
    what: 'password',
    anchors: ['Basic ', 'basic '],
    pattern: /[Bb]asic {1,8}(?<secret>[A-Za-z0-9+/]{8,400}={0,2})(?![A-Za-z0-9+/=])/y,
    isOne: isBasicAuth,
  },
  {
    what: 'password',
    anchors: ['://'],
    pattern: /:\/\/[^\s:/@"'<>\\?#]{0,100}:(?<secret>[^\s@/"'<>\\]{3,200})(?=@[A-Za-z0-9[])/y,
    isOne: (password) => !/^(?:\W|pass(?:word|wd)?$|secret$|pwd$)|[{}$*]|\.\.\.|your|example|placeholder/i.test(password),
    inside: true,
  },
]

const BY_ANCHOR = new Map<string, Form[]>()
for (const form of FORMS) for (const anchor of form.anchors) BY_ANCHOR.set(anchor, [...(BY_ANCHOR.get(anchor) ?? []), form])

const ANCHORS = new RegExp([...BY_ANCHOR.keys()].map((anchor) => anchor.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')).join('|'), 'g')

/** Something of every form. Told four times as fast as where the anchors are, and most texts have nothing of it. */
const COARSE = /[A-Za-z0-9][_-][A-Za-z0-9]|----|AKIA|ASIA|AIza|eyJ|dapi|earer |EARER |asic |KEY|Key|ya29|SG\.|hv[sb]\.|slack|:\/\//

/** A run of the characters that tokens consist of. A token may contain what looks like the beginning of another one. */
const RUN = /[A-Za-z0-9_-]*/y
/** How many anchors of one run are compared. */
const TRIES_IN_A_RUN = 4

/** The secrets in a text, in order; none of them overlap. */
export function secretsIn(text: string): Secret[] {
  const found: Secret[] = []
  if (!COARSE.test(text)) return found
  let [runEnd, tries] = [0, 0]
  ANCHORS.lastIndex = 0
  for (let hit = ANCHORS.exec(text); hit !== null; hit = ANCHORS.exec(text)) {
    if (hit.index >= runEnd) {
      RUN.lastIndex = hit.index
      RUN.test(text)
      ;[runEnd, tries] = [RUN.lastIndex, 0]
    }
    const candidates = candidatesAt(text, hit.index, hit[0])
    if (candidates.length === 0 || ++tries > TRIES_IN_A_RUN) continue
    const secret = secretAt(text, hit.index, candidates)
    if (secret === undefined) continue
    found.push(secret)
    ANCHORS.lastIndex = secret.to
  }
  return found
}

function candidatesAt(text: string, at: number, anchor: string): readonly Form[] {
  const forms = BY_ANCHOR.get(anchor) ?? []
  return isWordAt(text, at - 1) ? forms.filter(({ inside }) => inside) : forms
}

function secretAt(text: string, at: number, forms: readonly Form[]): Secret | undefined {
  for (const { what, pattern, isOne = isRandom } of forms) {
    const range = rangeOf(pattern, text, at)
    if (range !== undefined && isOne(text.slice(range.from, range.to))) return { what, ...range }
  }
  return undefined
}

function rangeOf(pattern: Form['pattern'], text: string, at: number): { readonly from: number; readonly to: number } | undefined {
  if (typeof pattern === 'function') {
    const to = pattern(text, at)
    return to === undefined ? undefined : { from: at, to }
  }
  pattern.lastIndex = at
  const match = pattern.exec(text)
  if (match === null) return undefined
  const to = at + match[0].length
  return { from: to - (match.groups?.secret ?? match[0]).length, to }
}

/** What stands behind a letter, a digit or a line is the inside of something else. */
function isWordAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  // A letter behind a backslash is an escape: JSON inside of a text.
  if ((code === 0x6e || code === 0x74 || code === 0x72) && text.charCodeAt(at - 1) === 0x5c) return false
  return (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a) || code === 0x5f
}

/** Manuals show what a key looks like with words, rows of the same character, or dots. */
const PLACEHOLDER = /(.)\1{5}|your[-_]|example|placeholder|redacted|dummy|change[-_]?me|0123456|1234567|abcdef(?:gh|12)/i

function isRandom(secret: string): boolean {
  return new Set(secret).size >= 10 && !PLACEHOLDER.test(secret)
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The last six characters of a token are the checksum of those between them and its prefix. */
function hasBase62Crc(token: string): boolean {
  const body = token.slice(token.indexOf('_') + 1, -6)
  let digits = ''
  for (let crc = crc32(body); crc > 0; crc = Math.floor(crc / 62)) digits = BASE62[crc % 62] + digits
  return digits.padStart(6, '0') === token.slice(-6)
}

function hasHexCrc(key: string): boolean {
  return crc32(key.slice(0, -8)).toString(16).padStart(8, '0') === key.slice(-8)
}

function hasJwtHeader(token: string): boolean {
  try {
    const header = JSON.parse(Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString()) as { alg?: unknown }
    return typeof header.alg === 'string'
  } catch {
    return false
  }
}

function isBasicAuth(encoded: string): boolean {
  return /^[^\s:\p{C}]+:[^\s\p{C}]{3,}$/u.test(Buffer.from(encoded, 'base64').toString())
}
