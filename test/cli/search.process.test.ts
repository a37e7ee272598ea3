import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Cli } from './holdfast.ts'

async function prepared(): Promise<Cli> {
  const cli = new Cli()
  await cli.prepare(async (store) => {
    const one = await store.create({ id: 'one', title: 'Lost parcel', tags: ['refund'] })
    await one.append([
      { id: 'u', role: 'user', content: 'My parcels were lost in Bergen.' },
      { id: 'a', role: 'assistant', content: 'Which parcel do you mean?' },
    ])
    await store.session('two').append({ id: 'x', role: 'user', content: 'A red \u001b[31m parcel' })
  })
  return cli
}

test('search prints hits with snippets and where the hits stand, for programs and for people', async () => {
  const cli = await prepared()
  const hits = await cli.json('search', 'parcel', 'lost')
  expect(hits.toSorted((a, b) => String(b.kind).localeCompare(String(a.kind)))).toMatchObject([
    { kind: 'session', session_id: 'one', message_id: null, title: 'Lost parcel' },
    {
      kind: 'message',
      session_id: 'one',
      message_id: 'u',
      role: 'user',
      snippet: 'My parcels were lost in Bergen.',
      marks: [
        [3, 10],
        [16, 20],
      ],
    },
  ])
  for (const { score } of hits) expect(score).toBeGreaterThan(0)
  const { stdout, stderr, status } = await cli.run(['search', 'red'])
  expect(status).toBe(0)
  expect(stderr).toBe('')
  expect(stdout).toContain('two')
  expect(stdout).toContain('A red \\x1b[31m parcel')
})

test('search is narrowed by session, role, time and limit', async () => {
  const cli = await prepared()
  const found = async (...words: string[]) => (await cli.json('search', ...words)).map(({ message_id }) => message_id)
  expect(await found('parcel', '--session', 'two')).toEqual(['x'])
  expect(await found('parcel', '--role', 'assistant')).toEqual(['a'])
  expect(await found('parcel', '--role', 'user', '--from', '1h')).toHaveLength(2)
  expect(await found('parcel', '--to', '2020-01-01')).toEqual([])
  expect(await found('parcel', '--limit', '1')).toHaveLength(1)
  expect(await found('"lost in"', 'berg*')).toEqual(['u'])
})

test.each([
  [['search', '--json']],
  [['search', '*']],
  [['search', 'a', '--from', 'yesterday']],
  [['search', 'a', '--role', 'nobody']],
  [['doctor', 'one', '--rebuild-catalog']],
])('%j is wrong usage', async (words) => {
  const cli = await prepared()
  expect(await cli.failure(words)).toMatchObject({ status: 2 })
})

test('nothing found is no failure', async () => {
  const cli = await prepared()
  expect(await cli.run(['search', 'elephant'])).toMatchObject({ status: 0, stdout: '', stderr: 'Nothing was found.\n' })
})

test('a catalog that is gone or garbage is made anew, by itself and by the doctor', async () => {
  const cli = await prepared()
  const ids = async () => (await cli.json('list', '--order', 'title')).map(({ session_id }) => session_id)
  expect(await ids()).toEqual(['two', 'one'])
  const catalog = join(cli.store, 'catalog.db')
  writeFileSync(catalog, 'garbage')
  expect(await ids()).toEqual(['two', 'one'])
  rmSync(catalog)
  expect(await cli.json('search', 'Bergen')).toHaveLength(1)
  expect(await cli.one('doctor', '--rebuild-catalog')).toEqual({ catalog: 'rebuilt', sessions: 2 })
  expect(await cli.json('search', 'Bergen')).toHaveLength(1)
  expect((await cli.json('doctor')).at(-1)).toMatchObject({ totals: { damage: 0, notes: 0 } })
})

test('a workspace that looks like a directory is one', async () => {
  const cli = await prepared()
  await cli.one('new', 'here', '--workspace', '.')
  await cli.one('new', 'named', '--workspace', 'project')
  const ids = async (workspace: string) =>
    (await cli.json('list', '--workspace', workspace, '--limit', '1')).map(({ session_id }) => session_id)
  expect(await ids('.')).toEqual(['here'])
  expect(await ids(process.cwd())).toEqual(['here'])
  expect(await ids('..')).toEqual([])
  expect(await ids('project')).toEqual(['named'])
})

test('search waits until all text is indexed, however long that takes: nothing would go on with it when the command has ended', async () => {
  const cli = new Cli()
  await cli.prepare(async (store) => {
    const filler = 'some words of no importance '.repeat(4000)
    for (let i = 0; i < 40; i++)
      await store.session(`s${i}`).append(Array.from({ length: 8 }, () => ({ role: 'user', content: `needle${i} ${filler}` })))
  })
  const { stdout, stderr, status } = await cli.run(['search', 'needle39', '--session', 's39', '--limit', '8', '--json'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout.trim().split('\n')).toHaveLength(8)
})

test('where the catalog cannot lie beside the store, everything is listed and found, and status tells why', async () => {
  const cli = await prepared()
  rmSync(join(cli.store, 'catalog.db'), { force: true })
  mkdirSync(join(cli.store, 'catalog.db'))
  expect(await cli.json('list')).toHaveLength(2)
  expect(await cli.json('search', 'Bergen')).toHaveLength(1)
  const { stdout, status } = await cli.run(['status'])
  expect(status).toBe(0)
  expect(stdout).toMatch(/^catalog +ready\. SQLite/m)
  expect(await cli.run(['doctor', '--rebuild-catalog'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('could not be rebuilt'),
  })
})
