/** Bytes that vanish: a journal that is missing, cut, rolled back or replaced is damaged, and never a new one. On the real disk. */
import { execFileSync } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { repairSession } from '../../src/doctor/repair.ts'
import { journalName } from '../../src/engine/names.ts'
import { openStore } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'

let directory: string
let stores: Store[]

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-vanished-'))
  stores = []
})

afterEach(async () => {
  for (const store of stores) await store.close()
  await rm(directory, { recursive: true, force: true })
})

async function open(options: Parameters<typeof openStore>[1] = {}): Promise<Store> {
  const store = await openStore(directory, options)
  stores.push(store)
  return store
}

function folder(id: string): string {
  return join(directory, 'sessions', journalName('default', id))
}

async function segments(id: string): Promise<string[]> {
  return (await readdir(folder(id)))
    .filter((file) => file.endsWith('.jsonl'))
    .toSorted()
    .map((file) => join(folder(id), file))
}

async function last(id: string): Promise<string> {
  return (await segments(id)).at(-1) as string
}

/** A session with some messages, and one beside it that nothing happens to. */
async function sample(count = 7): Promise<void> {
  const store = await openStore(directory)
  for (let i = 0; i < count; i++) await store.session('talk').append({ role: 'user', content: `message ${i}` }, { ids: [`m${i}`] })
  await store.session('other').append({ role: 'user', content: 'beside it' })
  await store.close()
}

/** What the doctor finds, but for the session beside it, which some of this takes away too. */
async function findings(store: Store): Promise<string[]> {
  const found: string[] = []
  for await (const { kind, severity, session } of doctor(store)) {
    if (severity === 'damage' && session !== 'other') found.push(`${kind} ${session}`)
  }
  return found
}

/** What each of these does to the session `talk`, and how many of its messages are left. */
const HARMS: readonly { readonly name: string; readonly harm: () => Promise<void>; readonly left: number | 'nothing' }[] = [
  { name: 'cut to zero', harm: async () => truncate(await last('talk'), 0), left: 'nothing' },
  { name: 'deleted', harm: async () => rm(await last('talk')), left: 'nothing' },
  { name: 'deleted with its directory', harm: () => rm(folder('talk'), { recursive: true }), left: 'nothing' },
  { name: 'deleted with all sessions', harm: () => rm(join(directory, 'sessions'), { recursive: true }), left: 'nothing' },
  {
    name: 'cut to half',
    harm: async () => {
      const path = await last('talk')
      await truncate(path, Math.floor((await readFile(path)).length / 2))
    },
    left: 3,
  },
  {
    name: 'short of its first 300 bytes',
    harm: async () => {
      const path = await last('talk')
      await writeFile(path, (await readFile(path)).subarray(300))
    },
    left: 'nothing',
  },
  {
    name: 'short of its last line',
    harm: async () => {
      const path = await last('talk')
      const bytes = await readFile(path)
      await truncate(path, bytes.lastIndexOf('\n', bytes.length - 2) + 1)
    },
    left: 6,
  },
]

test('a journal whose files are all empty, however many there are, is no purged one', async () => {
  await sample()
  const bytes = (await readFile(await last('talk'))).length
  await truncate(await last('talk'), 0)
  await writeFile(join(folder('talk'), `${String(bytes).padStart(16, '0')}.jsonl`), '')
  const session = (await open()).session('talk')
  await expect(session.messages()).rejects.toMatchObject({ code: 'DAMAGED', details: { reason: 'vanished', from: 0 } })
  await expect(session.append({ role: 'user', content: 'more' })).rejects.toMatchObject({ code: 'DAMAGED', outcome: 'none' })
  // Nothing was placed there that would hide the loss.
  for (const path of await segments('talk')) expect((await readFile(path)).length).toBe(0)
})

test('an empty file with the name of a later epoch hides no loss', async () => {
  await sample()
  await truncate(await last('talk'), 900)
  await writeFile(join(folder('talk'), '0000004294967296.jsonl'), '')
  const session = (await open()).session('talk')
  expect(await session.info()).toMatchObject({ status: 'damaged' })
  await expect(session.append({ role: 'user', content: 'more' })).rejects.toMatchObject({ code: 'DAMAGED', outcome: 'none' })
})

describe.each(HARMS)('a journal that is $name', ({ harm, left }) => {
  beforeEach(async () => {
    await sample()
    await harm()
  })

  test('is reported by every read, and no read takes it for a new session', async () => {
    const session = (await open()).session('talk')
    if (left === 'nothing') await expect(session.messages()).rejects.toMatchObject({ code: 'DAMAGED', details: { reason: 'vanished' } })
    else expect((await session.messages()).messages).toHaveLength(left)
    if (left !== 'nothing') expect(await session.info()).toMatchObject({ status: 'damaged' })
  })

  test('is listed as damaged', async () => {
    const { sessions } = await (await open()).list()
    expect(sessions.find(({ id }) => id === 'talk')).toMatchObject({ status: 'damaged' })
  })

  test('refuses appends with DAMAGED and stays as it is', async () => {
    const store = await open()
    const session = store.session('talk')
    const refusal = { code: 'DAMAGED', retryable: false, outcome: 'none', details: { reason: 'vanished' } }
    await expect(session.append({ role: 'user', content: 'more' })).rejects.toMatchObject(refusal)
    await expect(session.describe({ title: 'more' })).rejects.toMatchObject(refusal)
    await expect(store.create({ id: 'talk' })).rejects.toMatchObject(refusal)
  })

  test('is found by the doctor, in the whole store and alone', async () => {
    const store = await open()
    expect(await findings(store)).toContain('vanished talk')
    const alone: string[] = []
    for await (const { kind } of doctor(store, { session: 'talk' })) alone.push(kind)
    expect(alone).toContain('vanished')
  })

  test('continues once the damage is accepted, and keeps reporting the gap as accepted', async () => {
    const session = (await open()).session('talk')
    const { accepted, duplicate } = await session.acceptDamage()
    expect(duplicate).toBe(false)
    expect(accepted).toMatchObject([{ reason: 'vanished', accepted: true }])
    const { id } = await session.append({ role: 'user', content: 'after' })
    const again = await openStore(directory)
    stores.push(again)
    const { messages } = await again.session('talk').messages()
    expect(messages).toHaveLength((left === 'nothing' ? 0 : left) + 1)
    expect(messages.at(-1)).toMatchObject({ id, message: { content: 'after' } })
    expect(await again.session('talk').info()).toMatchObject({ id: 'talk', status: 'ok' })
    expect(await findings(again)).toEqual([])
    expect(await again.session('talk').acceptDamage()).toMatchObject({ duplicate: true })
  })

  test('is accepted by a repair', async () => {
    const store = await open()
    const found = []
    for await (const finding of doctor(store, { session: 'talk' })) found.push(finding)
    expect(await repairSession(store, 'talk', found)).toEqual([])
    await store.session('talk').append({ role: 'user', content: 'after' })
    expect(await findings(store)).toEqual([])
  })
})

describe('while the store is open', () => {
  test.each([
    ['cut to zero', async () => truncate(await last('talk'), 0)],
    ['removed', () => rm(folder('talk'), { recursive: true })],
    [
      'replaced by an older copy',
      async () => {
        const path = await last('talk')
        const bytes = await readFile(path)
        await rm(path)
        await writeFile(path, bytes.subarray(0, bytes.lastIndexOf('\n', bytes.length - 2) + 1))
      },
    ],
  ])('a journal that is %s is noticed by its next reader and its next writer', async (_, harm) => {
    const store = await open()
    const session = store.session('talk')
    for (let i = 0; i < 3; i++) await session.append({ role: 'user', content: `message ${i}` })
    await harm()
    await expect(session.append({ role: 'user', content: 'lost?' })).rejects.toMatchObject({ code: 'DAMAGED' })
    const read = await session.messages().catch((error: unknown) => error)
    expect(read instanceof Error ? read : await session.info()).toMatchObject(
      read instanceof Error ? { code: 'DAMAGED' } : { status: 'damaged' },
    )
  })
})

test('two journals that were swapped are damaged, and neither shows the messages of the other', async () => {
  await sample()
  const aside = `${folder('talk')}-aside`
  await rename(folder('talk'), aside)
  await rename(folder('other'), folder('talk'))
  await rename(aside, folder('other'))
  const store = await open()
  for (const id of ['talk', 'other']) {
    const session = store.session(id)
    await expect(session.messages()).rejects.toMatchObject({ code: 'DAMAGED' })
    await expect(session.append({ role: 'user', content: 'more' })).rejects.toMatchObject({ code: 'DAMAGED' })
    expect((await store.search('message', { session: id })).damage).toMatchObject([{ session: id, reason: 'identity' }])
  }
  const { sessions } = await store.list()
  expect(sessions.map(({ id, status }) => `${id} ${status}`).toSorted()).toEqual(['other damaged', 'talk damaged'])
})

test('the first segments of a journal that were deleted are missed', async () => {
  const store = await openStore(directory, { limits: { segmentBytes: 2000 } } as never)
  const session = store.session('talk')
  for (let i = 0; i < 100; i++) await session.append({ role: 'user', content: `message ${i} ${'x'.repeat(8000)}` })
  await store.close()
  const [first] = await segments('talk')
  expect((await segments('talk')).length).toBeGreaterThan(1)
  await rm(first as string)
  const again = (await open()).session('talk')
  await expect(again.append({ role: 'user', content: 'more' })).rejects.toMatchObject({ code: 'DAMAGED', details: { reason: 'vanished' } })
  await again.acceptDamage()
  await again.append({ role: 'user', content: 'more' })
})

test('two encrypted journals that were swapped are damaged by their identity, and cannot be accepted', async () => {
  const encryption = { masterKey: '11'.repeat(32) }
  const before = await openStore(directory, { encryption })
  for (const id of ['talk', 'other']) for (let i = 0; i < 3; i++) await before.session(id).append({ role: 'user', content: `${id} ${i}` })
  await before.close()
  const [one, two] = [await last('talk'), await last('other')]
  await rename(one, `${one}.aside`)
  await rename(two, one)
  await rename(`${one}.aside`, two)
  const store = await open({ encryption })
  for (const id of ['talk', 'other']) {
    const session = store.session(id)
    await expect(session.messages()).rejects.toMatchObject({ code: 'DAMAGED', details: { reason: 'identity' } })
    await expect(session.acceptDamage()).rejects.toMatchObject({ code: 'DAMAGED', details: { reason: 'identity' } })
  }
})

test('the doctor finds what vanished from an encrypted journal, also without the key', async () => {
  const before = await openStore(directory, { encryption: { masterKey: '11'.repeat(32) } })
  for (let i = 0; i < 3; i++) await before.session('talk').append({ role: 'user', content: `${i}` })
  await before.close()
  const bytes = await readFile(await last('talk'))
  // At the end of a line: what is left looks whole.
  await truncate(await last('talk'), bytes.lastIndexOf('\n', bytes.length - 2) + 1)
  expect(await findings(await open())).toContainEqual(expect.stringContaining('vanished'))
})

test.each(['holdfast.json', 'reserve', 'watermarks'])('a pipe in the place of %s holds up no read', async (place) => {
  await sample()
  const path = join(directory, place)
  const file = place === 'watermarks' ? join(path, (await readdir(path))[0] as string) : path
  await rm(file)
  execFileSync('mkfifo', [file])
  const read = openStore(directory).then(async (store) => {
    stores.push(store)
    return (await store.session('talk').messages()).messages.length
  })
  if (place === 'holdfast.json') await expect(read).rejects.toMatchObject({ code: 'DAMAGED' })
  else expect(await read).toBe(7)
})

test('a purge keeps a session whose forks were forgotten with an accepted loss', async () => {
  await sample()
  const store = await open()
  const fork = await store.session('talk').fork({ id: 'fork', at: 'm1' })
  await fork.append({ role: 'user', content: 'its own' })
  await store.close()
  await truncate(await last('talk'), 1000)
  const after = await open()
  const session = after.session('talk')
  await session.acceptDamage()
  await session.delete()
  const purged: unknown[] = []
  for await (const one of after.purge({ olderThanMs: 0 })) purged.push(one)
  expect(purged).toMatchObject([{ session: 'talk', action: 'kept' }])
  expect((await after.session('fork').messages()).messages.map(({ message }) => message.content)).toEqual([
    'message 0',
    'message 1',
    'its own',
  ])
})

describe('no alarm is raised for', () => {
  test('several stores that write to one session in turn', async () => {
    const [a, b] = [await open(), await open()]
    for (let i = 0; i < 20; i++) for (const store of [a, b]) await store.session('talk').append({ role: 'user', content: `message ${i}` })
    await a.close()
    expect(await findings(b)).toEqual([])
    expect((await (await open()).session('talk').info()).status).toBe('ok')
  })

  test('a copy of the store, taken while it is used, and a copy put in its place', async () => {
    const store = await open()
    const session = store.session('talk')
    await session.append({ role: 'user', content: 'before the copy' })
    await new Promise((resolve) => setTimeout(resolve, 1200))
    const copy = `${directory}-copy`
    await cp(directory, copy, { recursive: true })
    await session.append({ role: 'user', content: 'after the copy' })
    await store.close()
    const copied = await openStore(copy)
    await copied.session('talk').append({ role: 'user', content: 'in the copy' })
    expect(await findings(copied)).toEqual([])
    await copied.close()
    await rm(directory, { recursive: true })
    await cp(copy, directory, { recursive: true })
    await rm(copy, { recursive: true })
    await (await open()).session('talk').append({ role: 'user', content: 'put back' })
  })

  test('a session that is deleted, purged and created again', async () => {
    await sample()
    const store = await open()
    await store.session('talk').delete()
    for await (const _ of store.purge({ olderThanMs: 0 }));
    await store.create({ id: 'talk' })
    await store.session('talk').append({ role: 'user', content: 'again' })
    await store.close()
    const again = await open()
    expect(await findings(again)).toEqual([])
    expect((await again.session('talk').messages()).messages).toHaveLength(1)
  })
})

describe('with a catalog that knows the sessions from before', () => {
  beforeEach(async () => {
    await sample()
    const store = await openStore(directory)
    await store.list()
    await store.close()
  })

  test.each(HARMS)('a list shows a journal that is $name as damaged, and a search reports it', async ({ harm }) => {
    await harm()
    const store = await open()
    const { sessions } = await store.list()
    expect(sessions.find(({ id }) => id === 'talk')).toMatchObject({ status: 'damaged' })
    const { damage } = await store.search('message')
    expect(damage).toContainEqual(expect.objectContaining({ session: 'talk', reason: 'vanished' }))
  })

  test('a search reports a message that it knew and that rotted since, and the session is listed as damaged', async () => {
    const before = await openStore(directory)
    expect((await before.search('message')).hits).toHaveLength(7)
    await before.close()
    const bytes = await readFile(await last('talk'))
    bytes.write('M', bytes.indexOf('message 3'))
    await writeFile(await last('talk'), bytes)
    const store = await open()
    const { hits, damage } = await store.search('message')
    expect(hits).toHaveLength(6)
    expect(damage).toMatchObject([{ session: 'talk', reason: 'rotten' }])
    expect((await store.list()).sessions.find(({ id }) => id === 'talk')).toMatchObject({ status: 'damaged' })
  })

  test('a search that comes first reports it, too', async () => {
    await rm(folder('talk'), { recursive: true })
    const { damage, lag } = await (await open()).search('message')
    expect(damage).toMatchObject([{ session: 'talk' }])
    expect(lag).toBeNull()
  })

  test('when a process notices a loss, the others learn of it', async () => {
    const other = await open()
    await other.list()
    await rm(folder('other'), { recursive: true })
    await expect((await open()).session('other').messages()).rejects.toMatchObject({ code: 'DAMAGED' })
    expect((await other.stats()).sessions).toMatchObject({ damaged: 1 })
  })
})
