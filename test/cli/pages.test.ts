/** Commands that print several pages. */
import { expect, test } from 'vitest'
import { archives } from '../../src/cli/archives.ts'
import type { Context } from '../../src/cli/context.ts'
import { tree } from '../../src/cli/family.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Session } from '../../src/store/session.ts'
import type { Store } from '../../src/store/store.ts'

/** A command's context on a store whose pages hold `limit` items, and what the command prints. */
function contextOn(store: Store, limit: number): { context: Context; lines: string[]; results: object[] } {
  const [lines, results]: [string[], object[]] = [[], []]
  const colours = new Proxy({}, { get: () => String })
  const out = {
    json: false,
    result: async (fields: object, line?: (with_: unknown) => string) => {
      results.push(fields)
      lines.push(...(line?.(colours) ?? '').split('\n'))
    },
    note: () => undefined,
    warn: () => undefined,
  }
  const session = (id: string): Pick<Session, 'tree' | 'archive'> => {
    const inner = store.session(id)
    return {
      tree: (options) => inner.tree({ ...options, limit }),
      archive: (number, options) => inner.archive(number, { ...options, limit }),
    }
  }
  const context = { out, signal: new AbortController().signal, read: async () => ({ session }) } as unknown as Context
  return { context, lines, results }
}

test('tree draws every session of every page, below the one that it comes from', async () => {
  await using store = await openStore('memory:')
  await store.create({ id: 'root' })
  for (const a of ['a', 'b']) {
    const fork = await store.session('root').fork({ id: a })
    for (const b of ['1', '2']) await fork.fork({ id: `${a}${b}` })
  }
  const whole = contextOn(store, 1000)
  await tree(whole.context, ['root'])
  expect(whole.lines.map((line) => line.replace('  (fork)', ''))).toEqual([
    'root',
    '├─ a',
    '│  ├─ a1',
    '│  └─ a2',
    '└─ b',
    '   ├─ b1',
    '   └─ b2',
  ])
  for (const limit of [1, 2, 3]) {
    const paged = contextOn(store, limit)
    await tree(paged.context, ['root'])
    expect(paged.results).toEqual(whole.results)
    expect(paged.lines.map((line) => line.replaceAll('└', '├').replace(/^ {3}/, '│  '))).toEqual(
      whole.lines.map((line) => line.replaceAll('└', '├').replace(/^ {3}/, '│  ')),
    )
  }
})

test('archives prints every message of every page', async () => {
  await using store = await openStore('memory:')
  const session = store.session<object>('a')
  for (let i = 0; i < 7; i++) await session.append({ role: 'user', content: `message ${i}` })
  await session.commit()
  const { context, lines, results } = contextOn(store, 3)
  await archives(context, ['a', 1])
  const text = lines.join('\n')
  for (let i = 0; i < 7; i++) expect(text.split(`message ${i}`)).toHaveLength(2)
  expect(results.map((page) => (page as { messages: unknown[] }).messages.length)).toEqual([3, 3, 1])
})
