/** `doctor --repair`: adds and sets aside, and then the damage is known. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { Cli, objectsIn } from './holdfast.ts'

/** Spoils one message of a session that has three. */
async function spoiled(cli: Cli): Promise<{ path: string; before: Buffer }> {
  await cli.prepareMessages('a', 'm1')
  await cli.prepareMessages('a', 'm2')
  await cli.prepareMessages('a', 'm3')
  const sessions = join(cli.store, 'sessions')
  const [segment] = readdirSync(sessions, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.jsonl')) as [string]
  const path = join(sessions, segment)
  const bytes = readFileSync(path)
  bytes[bytes.indexOf('"content":"m2"') + 12] = 0x58
  writeFileSync(path, bytes)
  return { path, before: bytes }
}

test('damage is set aside and acknowledged: what was written stays, and the next look finds nothing to do', async () => {
  const cli = new Cli()
  const { path, before } = await spoiled(cli)
  expect((await cli.run(['doctor'])).status).toBe(5)
  const { status, stderr } = await cli.run(['doctor', '--repair'])
  expect(stderr).toContain('Will copy')
  expect(status).toBe(0)
  expect(readFileSync(path).subarray(0, before.length).equals(before)).toBe(true)
  const again = await cli.run(['--json', 'doctor'])
  expect(again.status).toBe(0)
  expect(objectsIn(again.stdout).map(({ kind }) => kind)).toContain('acknowledged')
  await cli.prepare(async (store) => {
    const kept = []
    for await (const { value } of store.in('_store').session('quarantine:default').entries('doctor')) kept.push(value)
    expect(JSON.stringify(kept)).toContain('"session":"a"')
    const { base64 } = kept[0] as { base64: string }
    expect(Buffer.from(base64, 'base64').toString()).toContain('"id":"m2","content":"mX"')
  })
})

test('new damage is told, although the old is known', async () => {
  const cli = new Cli()
  const { path } = await spoiled(cli)
  await cli.run(['doctor', '--repair'])
  const bytes = readFileSync(path)
  bytes[bytes.indexOf('"content":"m3"') + 12] = 0x58
  writeFileSync(path, bytes)
  expect((await cli.run(['doctor'])).status).toBe(5)
})

test('with --since-last, what was found whole is looked at again once it has grown', async () => {
  const cli = new Cli()
  const { path } = await spoiled(cli)
  await cli.run(['doctor', '--repair'])
  const verified = async (): Promise<number | null> => (await cli.run(['doctor', '--since-last'])).status
  expect(await verified()).toBe(0)
  const bytes = readFileSync(path)
  bytes[bytes.indexOf('"content":"m3"') + 12] = 0x58
  writeFileSync(path, bytes)
  // It has not grown; a whole look finds it all the same.
  expect(await verified()).toBe(0)
  expect((await cli.run(['doctor'])).status).toBe(5)
  await cli.run(['append', 'a', 'more'])
  expect(await verified()).toBe(5)
})

test('an id file that does not hold the keys of its segments is made anew', async () => {
  const cli = new Cli()
  await cli.prepare(async (store) => {
    const session = store.session('long')
    for (let i = 0; i < 5; i++) await session.append({ id: `m${i}`, role: 'user', content: 'x'.repeat(400_000) })
  })
  const sessions = join(cli.store, 'sessions')
  const files = (): string[] => readdirSync(sessions, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ids'))
  const path = join(sessions, files()[0] as string)
  const right = readFileSync(path)
  writeFileSync(path, Buffer.concat([right.subarray(0, 100), Buffer.of(0xee), right.subarray(101)]))
  const draft = `${path}.000000000001.tmp`
  writeFileSync(draft, '')
  expect((await cli.json('doctor')).map(({ kind }) => kind)).toEqual(['stale-index', undefined])
  const { status, stderr } = await cli.run(['doctor', '--repair'])
  expect(stderr).toContain('Will make the id files of "long" anew.')
  expect(status).toBe(0)
  expect(readFileSync(path).equals(right)).toBe(true)
  expect(existsSync(draft)).toBe(false)
  expect((await cli.json('doctor')).map(({ kind }) => kind)).toEqual([undefined])
})

test('a draft of an id file, which a process may be writing, is no finding of any command', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1', 'm2')
  const sessions = join(cli.store, 'sessions')
  const [segment = ''] = readdirSync(sessions, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.jsonl'))
  writeFileSync(join(sessions, segment.replace('.jsonl', '.ids.0123456789ab.tmp')), 'half of it')
  const lines = await cli.json('doctor')
  expect(lines).toEqual([{ totals: expect.objectContaining({ damage: 0, notes: 0 }) }])
  expect((await cli.run(['doctor', '--repair'])).status).toBe(0)
  expect(await cli.json('list')).toMatchObject([{ status: 'ok' }])
  const { status, stderr } = await cli.run(['accept-damage', 'a'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining('nothing of "a" is lost') })
})

test('a purge that died behind its mark is told, in whichever space, and ended', async () => {
  const cli = new Cli()
  const left = async (store: Store): Promise<readonly number[]> =>
    store.parts.engine.journal(store.parts.engine.name('team', 'gone')).segments()
  await cli.prepare(async (whole) => {
    const store = whole.in('team')
    const session = store.session('gone')
    await session.append({ role: 'user', content: 'secret' })
    await session.delete()
    // As a purge begins.
    const { engine, replicas } = store.parts
    await replicas.once(engine.name('team', 'gone')).replica.beginSegment()
    expect(await left(store)).toHaveLength(2)
  })
  expect((await cli.json('doctor')).map(({ kind, space }) => [kind, space])).toContainEqual(['unfinished-purge', 'team'])
  const { status, stderr } = await cli.run(['doctor', '--repair'])
  expect(stderr).toContain('Will end the purge of "gone".')
  expect(status).toBe(0)
  await cli.prepare(async (store) => expect(await left(store)).toHaveLength(1))
  expect((await cli.json('doctor')).map(({ kind }) => kind)).not.toContain('unfinished-purge')
})

test.each([
  ['begun', 0],
  ['half made', 0.5],
])('a segment that was %s is told, and finished', async (_, part) => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1')
  await cli.prepare(async ({ parts: { engine, replicas, space } }) => {
    await replicas.once(engine.name(space, 'a')).replica.beginSegment()
  })
  const sessions = join(cli.store, 'sessions')
  const newest = readdirSync(sessions, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .at(-1)
  const path = join(sessions, newest as string)
  const whole = readFileSync(path)
  const left = whole.subarray(0, Math.floor(part * whole.indexOf('}\n')))
  writeFileSync(path, left)
  const found = await cli.run(['--json', 'doctor'])
  expect(found.status).toBe(0)
  expect(objectsIn(found.stdout).filter(({ kind }) => kind === 'unfinished-roll')).toMatchObject([
    {
      session_id: 'a',
      segment: Number.parseInt(newest?.split('/').at(-1) as string, 10),
      offset: 0,
      length: left.length,
      severity: 'note',
    },
  ])
  const { status, stderr } = await cli.run(['doctor', '--repair'])
  expect(stderr).toContain('Will finish the newest segment of "a".')
  expect(status).toBe(0)
  // What stood there stays, and the whole beginning stands behind it.
  const after = readFileSync(path)
  expect(after.subarray(0, left.length).equals(left)).toBe(true)
  expect(after.includes('"type":"checkpoint"')).toBe(true)
  expect((await cli.json('doctor')).map(({ kind }) => kind)).not.toContain('unfinished-roll')
  await cli.run(['append', 'a', 'm2'])
  expect((await cli.json('show', 'a')).map(({ message }) => (message as { content: string }).content)).toEqual(['m1', 'm2'])
})
