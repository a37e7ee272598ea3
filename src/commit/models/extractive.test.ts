import { expect, test } from 'vitest'
import type { PromptMessage, SummaryAnswer } from '../model.ts'
import { extractive } from './extractive.ts'
import { parseOverview } from './sections.ts'

type Line = readonly [role: string, text: string, extract?: boolean]

async function summary(lines: readonly Line[], previous: string | null = null): Promise<SummaryAnswer> {
  const messages: PromptMessage[] = lines.map(([role, text, extract = true], index) => ({ id: `m${index}`, role, text, extract }))
  return extractive.summarise({ previous, messages, signal: new AbortController().signal })
}

const BUG: readonly Line[] = [
  ['user', 'Hi there!'],
  ['assistant', 'Hello! How can I help you today?'],
  ['user', 'Please fix the login bug in src/auth/session.ts: users are logged out after 5 minutes. See issue #4711.'],
  ['assistant', 'I will look at the session code first.\n[call c1 read_file {"path":"src/auth/session.ts"}]'],
  ['tool', '[result c1 export const expiry = () => { throw new Error("none") }]'],
  [
    'assistant',
    'The lifetime is computed in seconds but compared in milliseconds, therefore sessions expire early. I decided to convert it once, when the token is made.\n[call c2 run_tests {}]',
  ],
  ['tool', '[error c2 FAIL src/auth/session.test.ts\nTypeError: Cannot read properties of undefined (reading "expiresAt")]'],
  ['assistant', 'I fixed the mock in test/mocks/token.ts, and all 42 tests pass now.'],
  ['user', 'Actually the lifetime should be configurable instead of a constant.'],
  [
    'assistant',
    'Done: the lifetime comes from config/session.yaml now, with a default of one hour. Shall I open a pull request?\n[call c3 git_push {"branch":"fix"}]',
  ],
]

test('tells what was asked, what came of it, which files, what went wrong and what is open', async () => {
  const { abstract, overview } = await summary(BUG)
  expect(abstract).toBe(
    'Please fix the login bug in src/auth/session.ts: users are logged out after 5 minutes. — Done: the lifetime comes from config/session.yaml now, with a default of one hour.',
  )
  const { goal, state, facts, references, errors, questions } = parseOverview(overview)
  expect(goal).toEqual([
    'Please fix the login bug in src/auth/session.ts: users are logged out after 5 minutes.',
    'Actually the lifetime should be configurable instead of a constant.',
  ])
  expect(state).toEqual(['Done: the lifetime comes from config/session.yaml now, with a default of one hour.'])
  expect(facts).toContain('I decided to convert it once, when the token is made.')
  expect(references).toEqual(['#4711', 'src/auth/session.ts', 'src/auth/session.test.ts', 'test/mocks/token.ts', 'config/session.yaml'])
  expect(errors[0]).toBe(
    'TypeError: Cannot read properties of undefined (reading "expiresAt") → I fixed the mock in test/mocks/token.ts, and all 42 tests pass now.',
  )
  expect(questions).toEqual(['Call without a result: git_push (c3)', 'Assistant asked: Shall I open a pull request?'])
})

test('continues the previous overview: the goal stays, what was answered is no longer open, files mentioned again count as new', async () => {
  const first = await summary(BUG)
  const { overview } = await summary(
    [
      ['tool', '[result c3 pushed]'],
      ['user', 'Yes. Please also update src/auth/session.ts to log expired tokens. When will it be released?'],
    ],
    first.overview,
  )
  const { goal, state, references, questions } = parseOverview(overview)
  expect(goal).toEqual([
    'Please fix the login bug in src/auth/session.ts: users are logged out after 5 minutes.',
    'Please also update src/auth/session.ts to log expired tokens.',
  ])
  // Nobody has said anything newer about it.
  expect(state).toEqual(parseOverview(first.overview).state)
  expect(references.at(-1)).toBe('src/auth/session.ts')
  expect(questions).toEqual(['User asked: When will it be released?'])
  const third = parseOverview((await summary([['assistant', 'It will be released on Monday.']], overview)).overview)
  expect(third.questions).toEqual([])
  expect(third.goal).toEqual(goal)
  expect(third.state).toEqual(['It will be released on Monday.'])
})

test('what another model wrote is kept, and the oldest goes when there is too much', async () => {
  const previous = '# Goal\nShip the parser.\n\n## Notes\n* The grammar is LL(1).\n\n## Open questions\n1. Which licence?\n'
  let { overview } = await summary([['assistant', 'The parser reads tables now, which the grammar of section two needs.']], previous)
  expect(parseOverview(overview)).toMatchObject({
    goal: ['Ship the parser.'],
    facts: ['The grammar is LL(1).'],
    questions: ['Which licence?'],
  })
  for (let i = 0; i < 20; i++) {
    const said = `We decided in round ${i} that module number ${i} must be rewritten before the release.`
    overview = (
      await summary(
        [
          ['user', said],
          ['assistant', 'Understood, noted.'],
        ],
        overview,
      )
    ).overview
  }
  const { facts } = parseOverview(overview)
  expect(facts).not.toContain('The grammar is LL(1).')
  expect(facts.at(-1)).toContain('round 19')
  expect(Buffer.byteLength(overview)).toBeLessThanOrEqual(4400)
})

test.each([
  [
    'Chinese',
    [
      ['user', '你好！请帮我修复登录页面的错误，用户点击按钮以后没有反应。'],
      ['assistant', '问题出在 src/login.vue 文件，事件处理函数没有绑定。我们决定采用新的事件总线方案。'],
      ['user', '什么时候可以上线？'],
    ],
    '请帮我修复登录页面的错误，用户点击按钮以后没有反应。',
    '问题出在 src/login.vue 文件，事件处理函数没有绑定。',
    'src/login.vue',
    '什么时候可以上线？',
  ],
  [
    'Japanese',
    [
      ['user', 'こんにちは。データベースの移行手順を教えてください。'],
      ['assistant', '移行にはまずバックアップが必要です。その後scripts/migrate.shを実行します。'],
      ['user', '本番環境ではいつ実行しますか？'],
    ],
    'データベースの移行手順を教えてください。',
    '移行にはまずバックアップが必要です。',
    'scripts/migrate.sh',
    '本番環境ではいつ実行しますか？',
  ],
  [
    'Korean',
    [
      ['user', '안녕하세요. 서버 설정 파일 config/app.yml 을 수정해 주세요.'],
      ['assistant', '캐시 크기를 줄여서 메모리 문제를 해결했습니다.'],
      ['user', '언제 배포할 수 있나요?'],
    ],
    '서버 설정 파일 config/app.yml 을 수정해 주세요.',
    '캐시 크기를 줄여서 메모리 문제를 해결했습니다.',
    'config/app.yml',
    '언제 배포할 수 있나요?',
  ],
] as const)('%s: sentences end where they end', async (_, lines, goal, state, reference, question) => {
  const { abstract, overview } = await summary(lines)
  expect(abstract).toBe(`${goal} — ${state}`)
  const sections = parseOverview(overview)
  expect(sections.goal[0]).toBe(goal)
  expect(sections.state[0]).toBe(state)
  expect(sections.references).toEqual([reference])
  expect(sections.questions).toEqual([`User asked: ${question}`])
})

test('code, and output that merely speaks of errors, is no error', async () => {
  const { overview } = await summary([
    ['user', 'Show me how errors are thrown.\n```ts\nthrow new TypeError("an error occurred")\n```'],
    ['tool', '[result c1 # Error handling\nSee the chapter about errors and exceptions.]'],
    ['assistant', 'There were no errors in the build. It ran without failures.'],
  ])
  expect(parseOverview(overview).errors).toEqual([])
})

test('messages without any text are told as such', async () => {
  const { abstract, overview } = await summary([
    ['assistant', '[call c1 search {"q":"x"}]'],
    ['tool', '[result c1 ]'],
  ])
  expect(abstract).toBe('2 messages without text; calls of search.')
  expect(parseOverview(overview).questions).toEqual([])
  expect((await summary([])).abstract).toBe('0 messages without text.')
})

test('where all is short, the first that was said stands for it', async () => {
  expect((await summary([['user', 'parcel lost']])).abstract).toBe('parcel lost')
  expect((await summary([['user', '包裹丢了']])).abstract).toBe('包裹丢了')
  expect((await summary([['assistant', '[call c1 search {"q":"x"}]']])).abstract).toBe('1 message without text; calls of search.')
})

test('and/or, fractions, dates and method calls are no files', async () => {
  const { overview } = await summary([
    ['user', 'Use tea and/or coffee, 1/2 cup, on 2024/01/02, e.g. with foo.bar() or I/O. It costs $5/month. 他/她.'],
    [
      'assistant',
      'See https://example.org/a/b?c=1, (docs/format.md), ~/notes/x, C:\\temp\\a.txt, owner/repo#12, main.rs:10 and --out=dist/x.js.',
    ],
  ])
  expect(parseOverview(overview).references).toEqual([
    'https://example.org/a/b?c=1',
    'docs/format.md',
    '~/notes/x',
    'C:\\temp\\a.txt',
    'owner/repo#12',
    'main.rs:10',
    'dist/x.js',
  ])
})
