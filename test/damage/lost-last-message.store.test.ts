/**
 * The last message rots, and then the session continues. The next message takes the depth of the lost one, so depths show nothing: the writer
 * wrote down what it could not read, and every later answer reports it.
 */
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { repairSession } from '../../src/doctor/repair.ts'
import { journalName } from '../../src/engine/names.ts'
import { openStore, restoreSession } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'

const LIMITS = { segmentBytes: 2000 }
const LOST = { count: null, reason: 'rotten' }

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-last-message-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

async function using<T>(work: (store: Store) => Promise<T>, limits = {}): Promise<T> {
  const store = await openStore(directory, { limits })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

const append = (store: Store, content: string) => store.session('a').append({ role: 'user', content })

/** Flips one bit of a text in the files of the session, or of the byte so far before it. Returns how to flip it back. */
async function rot(text: string, before = 0): Promise<() => Promise<void>> {
  const folder = join(directory, 'sessions', journalName('default', 'a'))
  for (const name of (await readdir(folder)).filter((file) => file.endsWith('.jsonl'))) {
    const bytes = await readFile(join(folder, name))
    const found = bytes.indexOf(text)
    if (found === -1) continue
    const at = before === 0 ? found : bytes.lastIndexOf('{"v":', found) - before
    const flip = async (): Promise<void> => {
      const now = await readFile(join(folder, name))
      now[at] = (now[at] as number) ^ 1
      await writeFile(join(folder, name), now)
    }
    await flip()
    return flip
  }
  throw new Error(`No file holds ${text}.`)
}

async function report(store: Store): Promise<{ texts: unknown[]; damage: object[]; status: string; listed: string[] }> {
  const session = store.session('a')
  const { messages, damage } = await session.messages({ from: 'start', limit: 100 })
  const listed = (await store.list()).sessions.map(({ status }) => status)
  return { texts: messages.map(({ message }) => message.content), damage: [...damage], status: (await session.info()).status, listed }
}

async function findingsOf(store: Store): Promise<{ kind: string; severity: string }[]> {
  const found = []
  for await (const finding of doctor(store)) found.push(finding)
  return found.filter(({ severity, kind }) => severity === 'damage' || kind === 'acknowledged')
}

describe('the last message rots, and the session continues', () => {
  test('with a message: the number of lost messages is unknown', async () => {
    await using(async (store) => {
      for (const text of ['first', 'second']) await append(store, text)
    })
    await rot('second')
    const after = { texts: ['first', 'third'], damage: [expect.objectContaining(LOST)], status: 'damaged', listed: ['damaged'] }
    await using(async (store) => {
      await append(store, 'third')
      expect(await report(store)).toEqual(after)
    })
    await using(async (store) => expect(await report(store)).toEqual(after))
  })

  test('with a message, and the title had been changed before it rotted', async () => {
    await using(async (store) => {
      for (const text of ['first', 'second']) await append(store, text)
      await store.session('a').describe({ title: 'changed' })
    })
    await rot('second')
    await using(async (store) => {
      await append(store, 'third')
      expect(await report(store)).toMatchObject({ texts: ['first', 'third'], damage: [LOST], status: 'damaged' })
    })
  })

  // In the lead-in, the newline is the last byte, and the space before it may be any byte. Before them is the newline of the line before.
  test.each([
    [1, ['first', 'third'], [LOST], 'damaged'],
    [2, ['first', 'second', 'third'], [], 'ok'],
    [3, ['second', 'third'], [{ ...LOST, count: 1 }], 'damaged'],
  ])('with a message, and only byte %i before its line had been flipped', async (before, texts, damage, status) => {
    await using(async (store) => {
      for (const text of ['first', 'second']) await append(store, text)
    })
    await rot('second', before)
    // If a watermark was written after the first message, that line would have vanished with its newline.
    await rm(join(directory, 'watermarks'), { recursive: true })
    await using(async (store) => {
      await append(store, 'third')
      expect(await report(store)).toMatchObject({ texts, damage, status })
    })
  })

  test('with a title, and later with a message', async () => {
    await using(async (store) => {
      for (const text of ['first', 'second']) await append(store, text)
    })
    await rot('second')
    await using(async (store) => store.session('a').describe({ title: 'changed' }))
    await using(async (store) => {
      await append(store, 'third')
      expect(await report(store)).toMatchObject({ texts: ['first', 'third'], damage: [LOST], status: 'damaged' })
    })
  })

  test('and it was the only message', async () => {
    await using((store) => append(store, 'first'))
    await rot('first')
    await using(async (store) => {
      await append(store, 'second')
      expect(await report(store)).toMatchObject({ texts: ['second'], damage: [LOST], status: 'damaged' })
    })
  })

  test('beyond the segment that held it: pages around it, the window and searches report it', async () => {
    await using(async (store) => {
      for (const text of ['first', 'second']) await append(store, text)
    })
    await rot('second')
    await using(async (store) => {
      for (let i = 0; i < 30; i++) await append(store, `later ${i} ${'x'.repeat(300)}`)
    }, LIMITS)
    await using(async (store) => {
      expect(await report(store)).toMatchObject({ damage: [LOST], status: 'damaged', listed: ['damaged'] })
      const session = store.session('a')
      const page = await session.messages({ from: 'start', limit: 5 })
      expect(page.damage).toMatchObject([LOST])
      const after = page.messages.at(-1)?.id as string
      expect((await session.messages({ after, limit: 5 })).damage).toEqual([])
      expect((await session.window({ budget: 100_000 })).damage).toMatchObject([LOST])
      expect((await store.search('later', { session: 'a' })).damage).toMatchObject([{ count: null, session: 'a' }])
      expect((await store.search('later')).damage).toMatchObject([{ count: null, session: 'a' }])
    })
  })

  test('in the next segment, which one process begins and another one writes to', async () => {
    await using(async (store) => {
      await append(store, 'first')
      await append(store, `second ${'x'.repeat(2000)}`)
    }, LIMITS)
    await rot('second')
    await using(async (store) => store.parts.replicas.of(store.parts.engine.name('default', 'a')).replica.recover())
    await using(async (store) => {
      await append(store, 'third')
      expect(await report(store)).toMatchObject({ texts: ['first', 'third'], damage: [LOST], status: 'damaged' })
      expect(await findingsOf(store)).toMatchObject([{ kind: 'rotten' }])
    })
  })

  test('in a fork: it reports what it inherits, also when that is accepted', async () => {
    await using(async (store) => {
      for (const text of ['first', 'second']) await append(store, text)
    })
    await rot('second')
    await using(async (store) => {
      await append(store, 'third')
      const fork = await store.session('a').fork({ id: 'b' })
      await fork.append({ role: 'user', content: 'fourth' })
      const inherited = { ...LOST, session: 'a' }
      const { messages, damage } = await fork.messages({ from: 'start' })
      expect(messages.map(({ message }) => message.content)).toEqual(['first', 'third', 'fourth'])
      expect(damage).toMatchObject([inherited])
      expect((await fork.messages({ from: 'end' })).damage).toMatchObject([inherited])
      const last = messages.at(-1)?.id as string
      expect((await fork.messages({ from: 'end', before: last })).damage).toMatchObject([inherited])
      expect((await fork.messages({ after: messages[1]?.id as string })).damage).toEqual([])
      const again = await fork.fork({ id: 'c' })
      expect((await again.messages()).damage).toMatchObject([inherited])
      await repairSession(store, 'a', (await findingsOf(store)) as never)
      expect((await again.messages()).damage).toMatchObject([{ ...inherited, accepted: true }])
    })
  })
})

test('a fork lacks what its origin had lost after the last message, and so does the window of what is left', async () => {
  await using((store) => append(store, 'first'))
  await rot('first')
  await using(async (store) => {
    await append(store, 'second')
    expect((await store.session('a').window({ budget: 1000 })).damage).toMatchObject([LOST])
  })
  await rot('second')
  await using(async (store) => {
    const fork = await store.session('a').fork({ id: 'b' })
    await fork.append({ role: 'user', content: 'third' })
    expect((await fork.messages({ from: 'start' })).messages).toHaveLength(1)
  })
})

test('a fork that is made right after the loss reports it, and so does the doctor', async () => {
  await using(async (store) => {
    for (const text of ['first', 'second']) await append(store, text)
  })
  await rot('second')
  await using(async (store) => {
    const fork = await store.session('a').fork({ id: 'b' })
    const inherited = [{ ...LOST, session: 'a' }]
    expect((await fork.messages({ from: 'start' })).damage).toMatchObject(inherited)
    expect((await fork.messages({ from: 'end' })).damage).toMatchObject(inherited)
    expect((await fork.window({ budget: 1000 })).damage).toMatchObject(inherited)
    expect((await findingsOf(store)).map(({ kind }) => kind).toSorted()).toEqual(['lost-past', 'rotten'])
    await repairSession(store, 'a', (await findingsOf(store)) as never)
    expect((await fork.messages({ from: 'start' })).damage).toMatchObject([{ ...inherited[0], accepted: true }])
  })
})

test('a loss beside one that was accepted is not accepted', async () => {
  await using(async (store) => {
    for (const text of ['first', 'second', 'third']) await append(store, text)
  })
  await rot('second')
  await using(async (store) => repairSession(store, 'a', (await findingsOf(store)) as never))
  await rot('third')
  await using(async (store) => {
    await append(store, 'fourth')
    const { damage, status } = await report(store)
    expect(status).toBe('damaged')
    expect(damage.some((place) => !('accepted' in place))).toBe(true)
  })
})

test('nothing is missed of a session that was purged', async () => {
  await using(async (store) => {
    for (const text of ['first', 'second']) await append(store, text)
  })
  await rot('second')
  await using(async (store) => {
    await store.session('a').delete()
    for await (const _ of store.purge({ olderThanMs: 0 }));
    expect(await findingsOf(store)).toEqual([])
  })
})

test('a restore leaves out a message whose place another one has taken', async () => {
  const backup = `${directory}-backup`
  try {
    await using(async (store) => {
      for (const text of ['first', 'second']) await append(store, text)
    })
    await cp(directory, backup, { recursive: true })
    await rot('second')
    await using(async (store) => {
      for (let i = 0; i < 12; i++) await append(store, `later ${i} ${'x'.repeat(300)}`)
    }, LIMITS)
    expect(await restoreSession(backup, directory, 'a')).toMatchObject({ repairedLines: 0, repeatedLines: 1, status: 'damaged' })
    await using(async (store) => {
      const { texts, damage } = await report(store)
      expect(texts).not.toContain('second')
      expect(damage).toMatchObject([LOST])
      expect(await findingsOf(store)).toMatchObject([{ kind: 'rotten' }])
    })
  } finally {
    await rm(backup, { recursive: true, force: true })
  }
})

test('a repair accepts the loss: answers keep it, marked, and the session is ok', async () => {
  await using(async (store) => {
    for (const text of ['first', 'second']) await append(store, text)
  })
  await rot('second')
  await using(async (store) => {
    await append(store, 'third')
    const findings = await findingsOf(store)
    expect(findings).toMatchObject([{ kind: 'rotten' }])
    await repairSession(store, 'a', findings as never)
    expect(await report(store)).toMatchObject({ damage: [{ ...LOST, accepted: true }], status: 'ok' })
    expect(await findingsOf(store)).toMatchObject([{ kind: 'acknowledged' }])
  })
})

test('a line that can be read again is not part of the conversation, and the doctor says so', async () => {
  await using(async (store) => {
    for (const text of ['first', 'second']) await append(store, text)
  })
  const restore = await rot('second')
  await using((store) => append(store, 'third'))
  await restore()
  await using(async (store) => {
    expect(await report(store)).toMatchObject({ texts: ['first', 'third'], damage: [LOST], status: 'damaged' })
    const findings = await findingsOf(store)
    expect(findings).toMatchObject([{ kind: 'missing-message' }])
    await repairSession(store, 'a', findings as never)
    expect(await report(store)).toMatchObject({ damage: [{ ...LOST, accepted: true }], status: 'ok' })
    expect(await findingsOf(store)).toMatchObject([{ kind: 'acknowledged' }])
  })
})
