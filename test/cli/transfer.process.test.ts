/** `import` and `export`, as their users have them. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as zlib from 'node:zlib'
import { expect, test } from 'vitest'
import { ServerProcess } from '../server/process.ts'
import { claudeCode, codex, jsonl, openViking, pi } from '../transfer/fixtures.ts'
import { Cli, Lines, objectsIn } from './holdfast.ts'

function write(cli: Cli, name: string, content: string): string {
  const path = join(cli.directory, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, content)
  return path
}

test('import tells of each session, and of all of them last', async () => {
  const cli = new Cli()
  write(cli, '.claude/projects/p/cc-1.jsonl', claudeCode.files['cc-1.jsonl'] as string)
  const lines = await cli.json('import', join(cli.directory, '.claude'))
  const one = { recovered: 0, damaged: 0, skipped: 0, healed: [] }
  expect(lines[0]).toMatchObject({ source: join(cli.directory, '.claude/projects/p/cc-1.jsonl'), session_id: 'cc-1', messages: 10, ...one })
  expect(lines[1]).toMatchObject({ session_id: 'cc-1/agent-s1', messages: 2, ...one })
  expect(lines.at(-1)).toMatchObject({ totals: { sources: 1, sessions: 2, messages: 12, skipped: 0 }, dry_run: false })
  const people = await cli.run(['import', join(cli.directory, '.claude')])
  expect(people.stdout).toContain('cc-1  0 messages, 10 there already')
  expect(people.stderr).toContain('0 messages imported into 2 sessions')
})

test('a whole home folder: every program’s sessions are found by what they are, and what is none is told', async () => {
  const cli = new Cli()
  const home = join(cli.directory, 'home')
  const put = (name: string, files: Readonly<Record<string, string>>): void => {
    for (const [path, content] of Object.entries(files)) write(cli, join('home', name, path), content)
  }
  put('.claude/projects/p', claudeCode.files)
  put('.codex/sessions/2026/03/01', codex.files)
  put('.pi/agent/sessions', pi.files)
  put('viking/session/s-1', openViking.files)
  put('.claude', { 'settings.json': '{"theme":"dark"}' })
  put('.claude/node_modules/x', { 'log.jsonl': jsonl({ role: 'user', content: 'not of a session' }) })
  put('pictures', { 'a.png': 'no log' })
  const lines = await cli.json('import', home)
  const formats = lines.slice(0, -1).map(({ format, source }) => [
    String(source)
      .slice(home.length + 1)
      .split('/')[0],
    format,
  ])
  expect(new Set(formats.map(String))).toEqual(new Set(['.claude,claude-code', '.claude,', '.codex,codex', '.pi,pi', 'viking,openviking']))
  const messages = [claudeCode, codex, pi, openViking].flatMap(({ sessions }) => Object.values(sessions))
  expect(lines.at(-1)).toMatchObject({ totals: { sources: 5, messages: messages.reduce((sum, count) => sum + count), damaged: 0 } })
})

test('a dry run prints the same report, and makes no store', async () => {
  const cli = new Cli()
  const path = write(cli, 'cc-1.jsonl', claudeCode.files['cc-1.jsonl'] as string)
  const { stdout } = await cli.run(['--json', 'import', '--dry-run', path])
  expect(existsSync(cli.store)).toBe(false)
  const real = await cli.json('import', path)
  expect(objectsIn(stdout).slice(0, -1)).toEqual(real.slice(0, -1))
})

test('a path where nothing is, and a file of no known format, are told', async () => {
  const cli = new Cli()
  expect(await cli.failure(['import', join(cli.directory, 'nowhere')])).toMatchObject({ status: 3, code: 'NOT_FOUND' })
  expect(await cli.failure(['import', write(cli, 'x.json', '{"a":1}')])).toMatchObject({ status: 2, code: 'INVALID_ARGUMENT' })
})

test('a file that is all garbage is listed as unreadable, also where other files are fine', async () => {
  const cli = new Cli()
  const garbage = write(cli, 'from/lost.jsonl', 'no JSON at all')
  const listed = { source: garbage, session_id: null, damaged: 1, unreadable: true }
  const alone = await cli.run(['--json', 'import', garbage])
  expect(alone.status).toBe(1)
  expect(objectsIn(alone.stdout)).toMatchObject([listed, { totals: { sources: 1, damaged: 1, unreadable: 1 } }])
  write(cli, 'from/cc-1.jsonl', claudeCode.files['cc-1.jsonl'] as string)
  const lines = await cli.json('import', join(cli.directory, 'from'))
  expect(lines).toContainEqual(expect.objectContaining(listed))
  expect(lines.at(-1)).toMatchObject({ totals: { sources: 2, messages: 12, unreadable: 1 } })
})

test('a Zstandard file that this version of Node cannot read is told, and the rest of the folder goes on', async () => {
  const cli = new Cli()
  write(cli, 'sessions/rollout-1.jsonl.zst', '(\xb5/\xfd')
  write(cli, 'sessions/rollout-2.jsonl', codex.files['rollout.jsonl'] as string)
  const lines = await cli.json('import', join(cli.directory, 'sessions'))
  const of = (name: string) => lines.find(({ source }) => String(source).endsWith(name))
  expect(of('rollout-2.jsonl')).toMatchObject({ format: 'codex', messages: 5 })
  if ('createZstdDecompress' in zlib) expect(of('rollout-1.jsonl.zst')?.session_id).toBeNull()
  else expect(of('rollout-1.jsonl.zst')).toMatchObject({ session_id: null, note: expect.stringContaining('Node 22.15') })
})

test('with --watch, what is added to a file is imported until somebody interrupts', async () => {
  const cli = new Cli()
  const path = write(cli, 'chat.jsonl', jsonl({ role: 'user', content: 'one' }))
  const child = cli.start('--json', 'import', '--watch', path)
  const lines = new Lines(child)
  await lines.until(1)
  // The first look at the files comes behind the first pass; the file may be seen as it is now, or as it will be.
  const more = setInterval(() => appendFileSync(path, jsonl({ role: 'user', content: 'more' })), 500)
  await lines.until(2)
  clearInterval(more)
  child.kill('SIGINT')
  await new Promise((resolve) => child.once('close', resolve))
  expect(lines.objects[1]).toMatchObject({ session_id: lines.objects[0]?.session_id, skipped: 1 })
})

test('export writes what import reads, to a file that is put into place when it is whole', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1', 'm2')
  const file = join(cli.directory, 'all.jsonl')
  expect(await cli.one('export', '--all', '--out', file)).toEqual({ file, sessions: 1, damaged: 0 })
  const { stdout } = await cli.run(['export', '--all'])
  expect(readFileSync(file, 'utf8')).toBe(stdout)
  const other = new Cli()
  await other.json('import', file)
  expect((await other.run(['export', 'a'])).stdout).toBe(stdout)
  expect(existsSync(`${file}.partial`)).toBe(false)
})

test('export needs a session or --all', async () => {
  const cli = new Cli()
  expect(await cli.failure(['export'])).toMatchObject({ status: 2 })
  expect(await cli.failure(['export', 'none'])).toMatchObject({ status: 3, code: 'NOT_FOUND' })
})

test('at a server, import and export do the same as where the store is', async () => {
  const [here, away] = [new Cli(), new Cli()]
  const server = await ServerProcess.start(away.store)
  away.extra = { HOLDFAST_STORE: server.url, HOLDFAST_KEY: server.key }
  write(here, 'from/cc-1.jsonl', `${claudeCode.files['cc-1.jsonl']}{"torn`)
  for (const [name, content] of Object.entries(openViking.files)) write(here, `from/s-1/${name}`, content)
  write(here, 'from/chat.json.tmp', '[{"role":"us')
  const from = join(here.directory, 'from')
  const [dry, reports] = [await away.run(['--json', 'import', '--dry-run', from]), await here.json('import', from)]
  expect(objectsIn(dry.stdout).slice(0, -1)).toEqual(reports.slice(0, -1))
  expect(await away.json('import', from)).toEqual(reports)
  expect((await away.json('import', from)).at(-1)).toMatchObject({ totals: { messages: 0, damaged: 1 } })
  // What has no time in the source happened when it was imported.
  const year = new Date().getFullYear()
  const exported = async (cli: Cli, ...words: string[]): Promise<string> =>
    (await cli.run(['export', ...words])).stdout.replaceAll(new RegExp(`"(at|endedAt)":"${year}-[^"]*"`, 'g'), '"$1":"now"')
  expect(await exported(away, '--all')).toBe(await exported(here, '--all'))
  expect(await exported(away, '--tree', 'cc-1')).toBe(await exported(here, '--tree', 'cc-1'))
  const file = join(away.directory, 'page.html')
  expect(await away.json('export', 's-1', '--format', 'html', '--out', file)).toEqual([{ file, damaged: 0 }])
  expect(readFileSync(file, 'utf8')).toContain('And the third?')
  expect(await away.failure(['export', 'none'])).toMatchObject({ status: 3, code: 'NOT_FOUND' })
})
