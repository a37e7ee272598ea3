import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { PromptMessage } from '../model.ts'
import { extractive } from './extractive.ts'
import { HEADINGS, parseOverview, renderOverview, SECTIONS } from './sections.ts'

const PHRASES = [
  'My name is Anna. ',
  'Please fix src/auth/session.ts! ',
  'TypeError: x is undefined\n',
  'I fixed it. ',
  'Why? ',
  '## Goal\n',
  '- (none)\n',
  '```ts\nconst error = 1\n```\n',
  '\n[call c1 search {"q":1}]',
  '\n[error c1 failed]',
  '请帮我修复登录错误。',
  '我喜欢绿茶，',
  'データベースの移行が失敗しました。',
  '서버 오류를 수정해 주세요. ',
  'https://example.org/a.b?c=d#1 ',
  '\ud83d',
  '\ude00',
  '\u2028\r\n\t\0',
  'e.g. ',
  '**bold** 1) x ',
  '\u2019',
]
const text = fc
  .array(fc.oneof(fc.constantFrom(...PHRASES), fc.string({ unit: 'binary', maxLength: 40 }), fc.string({ maxLength: 300 })), {
    maxLength: 30,
  })
  .map((parts) => parts.join(''))
const messages: fc.Arbitrary<PromptMessage[]> = fc
  .array(fc.record({ role: fc.constantFrom('user', 'assistant', 'tool', 'system', 'unknown'), text, extract: fc.boolean() }), {
    maxLength: 12,
  })
  .map((all) => all.map((one, index) => ({ id: `m${index}`, ...one })))
const { signal } = new AbortController()

test('whatever is said, the answer is bounded, whole, the same again, and can be taken apart', async () => {
  await fc.assert(
    fc.asyncProperty(fc.option(text), messages, async (previous, said) => {
      const answer = await extractive.summarise({ previous, messages: said, signal })
      expect(await extractive.summarise({ previous, messages: said, signal })).toEqual(answer)
      const { abstract, overview, memories } = answer
      expect(abstract).toMatch(/^[^\n]{1,200}$/)
      expect(Buffer.byteLength(overview)).toBeLessThanOrEqual(4400)
      expect((abstract + overview).isWellFormed()).toBe(true)
      expect(overview.match(/^## .*$/gm)).toEqual(SECTIONS.map((section) => `## ${HEADINGS[section]}`))
      expect(renderOverview(parseOverview(overview))).toBe(overview)
      const extractable = said.filter(({ role, extract }) => role === 'user' && extract).map(({ id }) => id)
      for (const { key, text: remembered, sources } of memories) {
        expect(key).toMatch(/^(?:profile|preference|instruction|fact): \S.{0,79}$/u)
        expect(Buffer.byteLength(remembered ?? '')).toBeLessThanOrEqual(400)
        expect(extractable).toEqual(expect.arrayContaining([...sources]))
      }
      expect(new Set(memories.map(({ key }) => key)).size).toBe(memories.length)
    }),
    { numRuns: 200 },
  )
})

test('rolled over many archives, the overview stays within its bounds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(messages, { minLength: 5, maxLength: 10 }), async (archives) => {
      let previous: string | null = null
      for (const said of archives) previous = (await extractive.summarise({ previous, messages: said, signal })).overview
      expect(Buffer.byteLength(previous ?? '')).toBeLessThanOrEqual(4400)
    }),
    { numRuns: 50 },
  )
})

/** Each is 400,000 characters; anything quadratic would take minutes. */
test.each([
  ['no spaces', 'x'],
  ['slashes', '/'],
  ['dots', 'a.'],
  ['Han', '错'],
  ['errors', 'error\n'],
  ['short paths', 'a/b '],
  ['one long clause', 'I prefer '],
  ['open calls', '\n[call '],
  ['fences', '```\n'],
  ['questions', '? '],
  ['names', 'my name is a, '],
  ['spaces', ' '],
  ['hashes', '#1'],
  ['bullets', '- - '],
])('does not blow up on nothing but %s', { timeout: 10_000 }, async (_, unit) => {
  const long = unit.repeat(Math.ceil(400_000 / unit.length))
  const said = ['user', 'assistant', 'tool'].map((role, index) => ({ id: `m${index}`, role, text: long, extract: true }))
  const { abstract, overview } = await extractive.summarise({ previous: long, messages: said, signal })
  expect(abstract.length).toBeLessThanOrEqual(200)
  expect(Buffer.byteLength(overview)).toBeLessThanOrEqual(4400)
})
