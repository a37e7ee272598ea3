/** A server, a worker and a follower run while the directory of their store is unmounted, or another one takes its place. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connect, type RemoteStore } from '../../src/client/index.ts'
import { openStore } from '../../src/store/open-store.ts'
import { ended, Lines, MAIN } from '../cli/holdfast.ts'
import { requirePlatform } from '../platform.ts'
import { mountTmpfs } from '../processes/mount.ts'
import { ServerProcess } from '../server/process.ts'

const tmpfs = requirePlatform('tmpfs')
const ANYWHERE = { available: true }

interface Place {
  readonly directory: string
  leave(): Promise<void>
  comeBack(): void
}

function mounted(): Place {
  const mount = mountTmpfs(64)
  onTestFinished(() => mount.dispose())
  return { directory: mount.directory, leave: async () => mount.leave(), comeBack: () => mount.comeBack() }
}

function swapped(other: (path: string, directory: string) => Promise<void>): Place {
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-moved-'))
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }))
  const [directory, aside] = [join(parent, 'store'), join(parent, 'aside')]
  return {
    directory,
    leave: async () => {
      const foreign = join(parent, 'foreign')
      await other(foreign, directory)
      renameSync(directory, aside)
      renameSync(foreign, directory)
    },
    comeBack: () => {
      rmSync(directory, { recursive: true })
      renameSync(aside, directory)
    },
  }
}

async function anotherStore(path: string): Promise<void> {
  await using store = await openStore(path)
  await store.session('talk').append({ role: 'user', content: 'of another store' })
}

const PLACES: readonly (readonly [string, { readonly available: boolean }, () => Place])[] = [
  ['was unmounted', tmpfs, mounted],
  ['is an empty one', ANYWHERE, () => swapped(async (path) => void mkdirSync(path))],
  ['is another store', ANYWHERE, () => swapped(anotherStore)],
]

/** Names, sizes and contents. */
function contentOf(directory: string): unknown {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => [name, statSync(join(directory, name)).isFile() ? readFileSync(join(directory, name), 'base64') : ''])
}

function start(directory: string, ...words: string[]) {
  const child = spawn(process.execPath, [MAIN, ...words, '--store', directory, '--json'], { stdio: 'pipe' })
  child.stdin.on('error', () => undefined)
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function serve(directory: string): Promise<{ server: ServerProcess; store: RemoteStore }> {
  const server = await ServerProcess.start(directory)
  const store = connect(server.url, { key: server.key, retries: 0 })
  onTestFinished(() => store.close())
  return { server, store }
}

const MOVED = { code: 'UNAVAILABLE', details: { reason: 'store moved' } }

describe.each(PLACES)('the directory %s', (_, platform, place) => {
  test.skipIf(!platform.available)('a server refuses every request until it is back, and writes nothing there', async () => {
    const { directory, leave, comeBack } = place()
    const { server, store } = await serve(directory)
    const talk = store.session('talk')
    await talk.append({ role: 'user', content: 'one' }, { ids: ['m1'] })
    expect((await store.list()).sessions).toHaveLength(1)
    await leave()
    const foreign = contentOf(directory)
    const calls: Record<string, () => Promise<unknown>> = {
      list: () => store.list(),
      search: () => store.search('one'),
      stats: () => store.stats(),
      messages: () => talk.messages(),
      append: () => talk.append({ role: 'user', content: 'two' }, { ids: ['m2'] }),
      'a new session': () => store.session('new').append({ role: 'user', content: 'one' }, { ids: ['n1'] }),
      'an unknown session': () => store.session('unknown').messages(),
    }
    for (const [name, call] of Object.entries(calls)) await expect(call(), name).rejects.toMatchObject(MOVED)
    expect((await fetch(`${server.url}/ready`)).status).toBe(503)
    expect(contentOf(directory)).toEqual(foreign)
    comeBack()
    expect((await store.list()).sessions.map(({ id }) => id)).toEqual(['talk'])
    await talk.append({ role: 'user', content: 'two' }, { ids: ['m2'] })
    await store.session('new').append({ role: 'user', content: 'one' }, { ids: ['n1'] })
    expect((await talk.messages()).messages.map(({ id }) => id)).toEqual(['m1', 'm2'])
    expect((await store.list()).sessions).toHaveLength(2)
    expect((await store.search('two')).hits).toHaveLength(1)
    expect((await fetch(`${server.url}/ready`)).status).toBe(200)
    await server.stop()
  })

  test.skipIf(!platform.available)('a server asks its catalog for the first time', async () => {
    const { directory, leave, comeBack } = place()
    const { server, store } = await serve(directory)
    await store.session('talk').append({ role: 'user', content: 'one' })
    await leave()
    const foreign = contentOf(directory)
    await expect(store.list()).rejects.toMatchObject(MOVED)
    await expect(store.list()).rejects.toMatchObject(MOVED)
    expect(contentOf(directory)).toEqual(foreign)
    comeBack()
    expect((await store.list()).sessions).toHaveLength(1)
    await server.stop()
  })

  test.skipIf(!platform.available)('a follower ends with what to do, and a worker continues when it is back', async () => {
    const { directory, leave, comeBack } = place()
    const prepare = async (content: string): Promise<void> => {
      await using store = await openStore(directory)
      await store.session('talk').append({ role: 'user', content })
      await store.session('talk').commit()
    }
    await prepare('Please look at this.')
    const worker = start(directory, 'work')
    const done = new Lines(worker)
    await done.until(1)
    const follower = start(directory, 'show', 'talk', '--follow', '--archived')
    const shown = new Lines(follower)
    const end = ended(follower)
    await shown.until(1)
    await leave()
    const foreign = contentOf(directory)
    const { status, stderr } = await end
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(/UNAVAILABLE.*Mount it or move it back/) })
    expect(contentOf(directory)).toEqual(foreign)
    comeBack()
    await prepare('And at that.')
    await done.until(2)
    expect(done.objects.map(({ status: of }) => of)).toEqual(['completed', 'completed'])
    worker.kill('SIGTERM')
    await once(worker, 'close')
  })
})

test('a server continues on a copy of its store that took the place of the directory', async () => {
  const { directory, leave } = swapped(async (copy, store) => cpSync(store, copy, { recursive: true, verbatimSymlinks: true }))
  const { server, store } = await serve(directory)
  const talk = store.session('talk')
  await talk.append({ role: 'user', content: 'one' }, { ids: ['m1'] })
  await store.list()
  await leave()
  expect((await store.list()).sessions).toHaveLength(1)
  expect((await talk.messages()).messages.map(({ id }) => id)).toEqual(['m1'])
  await store.session('new').append({ role: 'user', content: 'one' })
  expect((await store.list()).sessions).toHaveLength(2)
  await using other = await openStore(directory)
  expect((await other.list()).sessions).toHaveLength(2)
  await server.stop()
})
