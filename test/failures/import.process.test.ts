/** Failures of other stores, met when their sessions are brought in: through the library, and through the command line on real files, here and over HTTP. */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/store/open-store.ts'
import { importInto } from '../../src/transfer/import/import.ts'
import type { ImportedSession } from '../../src/transfer/import/report.ts'
import { sourcesAt } from '../../src/transfer/sources.ts'
import { Cli, objectsIn } from '../cli/holdfast.ts'
import { ServerProcess } from '../server/process.ts'
import { type Fixture, jsonl, nanobot, openViking } from '../transfer/fixtures.ts'

type Files = Readonly<Record<string, string | Buffer>>

/** Files of another program, and both ways into a store. */
class Foreign {
  readonly cli = new Cli()
  readonly path = join(this.cli.directory, 'foreign')
  server: ServerProcess | undefined

  write(files: Files): this {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.path, name)), { recursive: true })
      writeFileSync(join(this.path, name), content)
    }
    return this
  }

  writeFixture({ files }: Fixture, changes: Files = {}): this {
    return this.write(Object.fromEntries(Object.entries({ ...files, ...changes }).map(([path, content]) => [`s-1/${path}`, content])))
  }

  get digest(): string {
    const sum = createHash('sha256')
    for (const entry of readdirSync(this.path, { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) sum.update(entry.name).update(readFileSync(join(entry.parentPath, entry.name)))
    }
    return sum.digest('hex')
  }
}

interface Seen {
  readonly reports: readonly Pick<ImportedSession, 'session' | 'messages' | 'skipped' | 'damaged' | 'recovered' | 'healed'>[]
  /** Ids of the messages of a session, archived ones too. */
  idsOf(session: string): Promise<string[]>
  contentsOf(session: string): Promise<unknown[]>
}

const WAYS: readonly (readonly [string, (foreign: Foreign) => Promise<Seen>])[] = [
  [
    'library',
    async (foreign) => {
      const store = await openStore(foreign.cli.store)
      const reports: ImportedSession[] = []
      for await (const report of importInto(store, sourcesAt([foreign.path]))) reports.push(report)
      const messages: [string, { id: string; content: unknown }[]][] = []
      for (const { id } of (await store.list()).sessions) {
        const page = await store.session(id).messages({ archived: true, limit: 1000 })
        messages.push([id, page.messages.map((one) => ({ id: one.id, content: one.message.content }))])
      }
      await store.close()
      const of = (session: string) => new Map(messages).get(session) ?? []
      return {
        reports,
        idsOf: async (session) => of(session).map(({ id }) => id),
        contentsOf: async (session) => of(session).map(({ content }) => content),
      }
    },
  ],
  ['command line', typed],
  [
    'command line, at a server',
    async (foreign) => {
      const { cli } = foreign
      foreign.server ??= await ServerProcess.start(cli.store)
      cli.extra = { HOLDFAST_STORE: foreign.server.url, HOLDFAST_KEY: foreign.server.key }
      return typed(foreign)
    },
  ],
]

async function typed({ cli, path }: Foreign): Promise<Seen> {
  const { status, stdout } = await cli.run(['--json', 'import', path])
  expect(status).toBe(0)
  const reports = objectsIn(stdout).slice(0, -1)
  const shown = (session: string) => cli.json('show', session, '--archived')
  return {
    reports: reports.map(({ session_id, ...report }) => ({ ...report, session: session_id })) as unknown as Seen['reports'],
    idsOf: async (session) => (await shown(session)).map(({ id }) => String(id)),
    contentsOf: async (session) => (await shown(session)).map(({ message }) => (message as { content: unknown }).content),
  }
}

const chat = (...texts: string[]): string => jsonl(...texts.map((content) => ({ role: 'user', content })))

describe.each(WAYS)('through the %s', (_, bringIn) => {
  test('F5 a damaged file is not an empty one: what is whole comes, the rest is told, and the source stays as it is', async () => {
    const good = nanobot.files['file.jsonl'] as string
    const bytes = Buffer.from(good)
    bytes[good.indexOf('hello')] = 0xff
    const foreign = new Foreign().write({ 'telegram_42.jsonl': bytes, 'gone.jsonl': Buffer.alloc(100, 0xfe) })
    const before = foreign.digest
    const { reports, contentsOf } = await bringIn(foreign)
    expect(reports.find(({ session }) => session === 'telegram:42')).toMatchObject({ messages: 6, recovered: 1, damaged: 1 })
    expect(await contentsOf('telegram:42')).toEqual(['hi', '\ufffdello', 'yes', null, 'seen', 'yes'])
    expect(foreign.digest).toBe(before)
  })

  test('F7 bad UTF-8, lone surrogates, U+2028 and NUL cost no line, and what is kept is well-formed', async () => {
    const foreign = new Foreign().write({ 'chat.jsonl': `${chat('a\u2028b', 'c\ud800d', 'e\0f')}{"role":"user","content":"raw \0 nul"}\n` })
    const { reports, contentsOf } = await bringIn(foreign)
    expect(await contentsOf(reports[0]?.session as string)).toEqual(['a\u2028b', 'c\ufffdd', 'e\0f', 'raw \0 nul'])
  })

  test('F13 a live list whose clearing was lost is healed by id', async () => {
    const archived = openViking.files['history/archive_001/messages.jsonl'] as string
    const foreign = new Foreign().writeFixture(openViking, { 'messages.jsonl': archived + openViking.files['messages.jsonl'] })
    const { reports, idsOf } = await bringIn(foreign)
    expect(reports).toMatchObject([{ session: 's-1', messages: 4, healed: [expect.stringContaining('2 messages')] }])
    expect(await idsOf('s-1')).toEqual(['v1', 'v2', 'v3', 'v4'])
  })

  test('F14 a count that disagrees drops no message whose id no archive holds', async () => {
    const meta = JSON.stringify({ session_id: 's-1', message_count: 0, total_message_count: 2, commit_count: 1 })
    const { reports, idsOf } = await bringIn(new Foreign().writeFixture(openViking, { '.meta.json': meta }))
    expect(reports).toMatchObject([{ messages: 4, healed: [] }])
    expect(await idsOf('s-1')).toEqual(['v1', 'v2', 'v3', 'v4'])
  })

  test('F26 one bad item costs itself, and nothing before or behind it', async () => {
    const lines = chat('one', 'two', 'three').split('\n')
    lines[1] = '{"role":"user","content":["two",'
    const foreign = new Foreign().write({ 'chat.jsonl': lines.join('\n') })
    const { reports, contentsOf } = await bringIn(foreign)
    expect(reports).toMatchObject([{ messages: 2, damaged: 1 }])
    expect(await contentsOf(reports[0]?.session as string)).toEqual(['one', 'three'])
  })

  test('F36 nothing is lost or doubled by importing again, from elsewhere, or more', async () => {
    const foreign = new Foreign().write({ 'chat.jsonl': chat('one', 'one', 'two') }).writeFixture(openViking)
    const before = foreign.digest
    const first = await bringIn(foreign)
    expect(first.reports.map(({ messages }) => messages).sort()).toEqual([3, 4])
    expect(foreign.digest).toBe(before)
    const again = await bringIn(foreign)
    expect(again.reports.map(({ messages, skipped }) => [messages, skipped]).sort()).toEqual([
      [0, 3],
      [0, 4],
    ])
    foreign.write({ 'chat.jsonl': chat('one', 'one', 'two', 'three') })
    const grown = await bringIn(foreign)
    const session = first.reports.find(({ messages }) => messages === 3)?.session as string
    expect(grown.reports.find((report) => report.session === session)).toMatchObject({ messages: 1, skipped: 3 })
    expect(await grown.contentsOf(session)).toEqual(['one', 'one', 'two', 'three'])
  })
})
