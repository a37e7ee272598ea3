import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { requirePlatform } from '../platform.ts'
import { Cli, MAIN } from './holdfast.ts'

/** Clears the screen, sets the title, writes to the clipboard, hides, turns the direction of text, moves about, rings. */
const HOSTILE = [
  '\x1b[2J\x1b[H',
  '\x1b]0;title\x07',
  '\x1b]52;c;ZXZpbA==\x07',
  '\x9b31m',
  '\x90q\x9c',
  '\u202egnp.exe\u202c',
  '\u2066x\u2069',
  'safe\rhidden',
  'a\bb\x7f',
  '\x07',
  '\u2028line',
  '\u{e0041}\u{e0042}',
].join(' ')

/** What may act on a terminal. Line breaks are ours. */
const ACTING = /(?!\n)[\p{Cc}\p{Bidi_Control}\u2028\u2029\u{e0000}-\u{e007f}]/u

async function hostileStore(): Promise<Cli> {
  const cli = new Cli()
  await cli.prepare(async (store) => {
    const session = await store.create({ id: `s ${HOSTILE}`, title: `title ${HOSTILE}\nsecond line`, tags: [`tag ${HOSTILE}`] })
    await session.append({ role: `user ${HOSTILE}`, id: `m ${HOSTILE}`, content: HOSTILE })
    await session.append({
      role: 'assistant',
      content: [{ type: 'text', text: HOSTILE }, HOSTILE, { type: 'tool_use', name: HOSTILE, input: { [HOSTILE]: 1 } }],
    })
    await session.append({ role: 'assistant', content: null, tool_calls: [{ function: { name: HOSTILE, arguments: HOSTILE } }] })
    await store.session<object>(session.id).append({ [HOSTILE]: HOSTILE })
    await session.recordUsage({ model: HOSTILE, inputTokens: 1, outputTokens: 1 })
    await session.fork({ id: `fork ${HOSTILE}` })
  })
  return cli
}

const SESSION = `s ${HOSTILE}`
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  messages: ['show', SESSION],
  'titles and tags in a list': ['list'],
  'a tree': ['tree', SESSION],
  'names of models': ['usage'],
  'a note': ['title', SESSION, `another ${HOSTILE}`],
  'a refusal': ['revert', SESSION, `nowhere ${HOSTILE}`],
  'the value of an option': ['show', SESSION, '--limit', HOSTILE],
  'an unknown command': [`command${HOSTILE}`],
  'an unknown option': ['list', `--option${HOSTILE}`],
}

test.each(Object.entries(COMMANDS))('F39 nothing of a transcript acts on the terminal: %s', async (_, words) => {
  const cli = await hostileStore()
  for (const json of [[], ['--json']]) {
    const { stdout, stderr } = await cli.run([...json, ...words])
    expect(stdout + stderr).not.toBe('')
    expect(stdout + stderr).not.toMatch(ACTING)
  }
})

test('F39 what would act is shown escaped', async () => {
  const cli = await hostileStore()
  const { stdout } = await cli.run(['show', SESSION])
  for (const shown of ['\\x1b[2J\\x1b[H', '\\x9b31m', '\\u202egnp.exe', 'safe\\rhidden', '\\u{e0041}']) expect(stdout).toContain(shown)
})

test('F39 as JSON the content comes back as it was', async () => {
  const cli = await hostileStore()
  const [first] = await cli.json('show', SESSION)
  expect(first).toMatchObject({ id: `m ${HOSTILE}`, message: { content: HOSTILE } })
})

test('a message cannot pass for two: every line of its content is indented', async () => {
  const cli = new Cli()
  await cli.prepare(async (store) => store.session('a').append({ role: 'user', id: 'm', content: 'hi\n\nassistant  now  m2\n  forged' }))
  expect((await cli.run(['show', 'a'])).stdout).toBe('user  now  m\n  hi\n  \n  assistant  now  m2\n    forged\n\n')
})

const terminal = requirePlatform('terminal')

function inTerminal(cli: Cli, words: readonly string[], columns: number, env: NodeJS.ProcessEnv = {}): string {
  const quoted = [process.execPath, MAIN, ...words].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
  const options = ['--quiet', '--return', '--command', `stty cols ${columns}; ${quoted}`, '/dev/null']
  const { status, stdout } = spawnSync('script', options, { encoding: 'utf8', env: { ...cli.env, ...env } })
  expect(status, stdout).toBe(0)
  return stdout.replaceAll('\r\n', '\n')
}

/** The colours of picocolors, and nothing else. */
const OUR_COLOURS = new RegExp(`${'\x1b'}\\[(?:1|2|22|3[0-9])m`, 'g')

test.skipIf(!terminal.available)('F39 on a terminal there are colours, ours and no others', async () => {
  const cli = await hostileStore()
  // Quiet: on a machine that has much to do, progress would be shown as well.
  for (const words of [
    ['show', SESSION],
    ['list', '--quiet'],
  ]) {
    const shown = inTerminal(cli, words, 80)
    expect(shown).toMatch(OUR_COLOURS)
    expect(shown.replaceAll(OUR_COLOURS, '')).not.toMatch(ACTING)
    expect(inTerminal(cli, words, 80, { NO_COLOR: '1' })).not.toMatch(ACTING)
  }
})

test.skipIf(!terminal.available)('on a terminal a table is cut to its width, with wide characters counted as two', async () => {
  const cli = new Cli()
  await cli.prepare(async (store) => {
    await store.create({ id: 'wide', title: '漢字'.repeat(40), tags: ['tag'] })
    await store.create({ id: 'short', title: 'plain' })
  })
  const [head = '', ...rows] = inTerminal(cli, ['list', '--quiet'], 60, { NO_COLOR: '1' }).trimEnd().split('\n')
  const row = rows.find((line) => line.startsWith('wide')) as string
  expect(row).toMatch(/[漢字]…/)
  const cells = (text: string) => [...text].reduce((sum, character) => sum + (/\p{Script=Han}/u.test(character) ? 2 : 1), 0)
  expect(cells(row)).toBeLessThanOrEqual(60)
  // What stands behind the title is aligned with its column all the same.
  expect(cells(row.slice(0, row.indexOf('now')))).toBe(head.indexOf('UPDATED'))
})
