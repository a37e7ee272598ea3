/** No regular expression of the sources takes a time that grows faster than its text: `recheck` looks at each of them. */
import { beforeAll, expect, test } from 'vitest'
import { BOUNDED } from './bounded-patterns.ts'
import { type Pattern, patternsIn } from './patterns.ts'
import { readSources } from './sources.ts'

type Check = (source: string, flags: string, options: { readonly timeout: number }) => { readonly status: string }

/** The slowest of the others takes half of it on a busy machine. */
const TIMEOUT_MS = 20_000

let check: Check
beforeAll(async () => {
  // Runs in this process, on any architecture: the other backends are programs for some machines, and a Java archive.
  process.env.RECHECK_BACKEND = 'pure'
  check = ((await import('recheck')) as unknown as { readonly checkSync: Check }).checkSync
})

const patterns = [...readSources('src', ['.ts']), ...readSources('web', ['.ts', '.tsx'])]
  .filter(({ path }) => !/\.test\.tsx?$/.test(path))
  .flatMap(patternsIn)

function slowOnes(of: readonly Pattern[], bounded: Readonly<Record<string, string>>): string[] {
  const judged = new Map<string, string>()
  return of.flatMap(({ place, text, source, flags = '' }) => {
    if (Object.hasOwn(bounded, text)) return []
    if (source === undefined) return [`${place} ${text} is put together at runtime`]
    if (!judged.has(text)) judged.set(text, check(source, flags, { timeout: TIMEOUT_MS }).status)
    return judged.get(text) === 'safe' ? [] : [`${place} ${text} is ${judged.get(text)}`]
  })
}

test('no regular expression is slow, but those whose text is bounded', () => {
  expect(patterns.length).toBeGreaterThan(300)
  expect(slowOnes(patterns, BOUNDED)).toEqual([])
}, 600_000)

test('every exception is still needed', () => {
  const texts = new Set(patterns.map(({ text }) => text))
  expect(Object.keys(BOUNDED).filter((text) => !texts.has(text))).toEqual([])
})

test('a slow one is found, also one that is put together at runtime', () => {
  const planted = {
    path: 'planted.ts',
    text: String.raw`const a = /^(?:[\w-]+: [^\n]*\n)*\s*$/; const b = /(a+)+$/; const c = new RegExp(a.source + 'x')`,
  }
  expect(slowOnes(patternsIn(planted), {})).toMatchObject([
    expect.stringContaining('/(a+)+$/ is vulnerable'),
    expect.stringContaining('new RegExp'),
  ])
})
