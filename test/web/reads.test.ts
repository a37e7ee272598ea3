/** What the page reads with several requests: the marks of tasks, the damage of a session, the tree, and where two sessions part. */
import { expect, test } from 'vitest'
import { readDamage } from '../../web/session/read-damage.ts'
import { readTaskMarks } from '../../web/sessions/task-marks.ts'
import { partingOf } from '../../web/tree/parting.ts'
import { type TreePage, wholeTree, withNextPage } from '../../web/tree/whole-tree.ts'

type TaskServer = Parameters<typeof readTaskMarks>[0]

test('a task that runs or waits hides one that failed', async () => {
  const tasks: Record<string, readonly string[]> = { failed: ['a', 'b', 'c'], pending: ['b'], running: ['c', 'd'] }
  const server = { tasks: async ({ status }: { status: string }) => (tasks[status] ?? []).map((session) => ({ session })) }
  expect([...(await readTaskMarks(server as unknown as TaskServer))]).toEqual([
    ['a', 'failed'],
    ['b', 'committing'],
    ['c', 'committing'],
    ['d', 'committing'],
  ])
})

type DamagedSession = Parameters<typeof readDamage>[0]

function place(position: number) {
  return { position, reason: 'checksum' }
}

test('the damage of a session is that of all its pages, each place once', async () => {
  const pages = [
    { messages: [{ id: 'a' }, { id: 'b' }], more: true, damage: [place(1), place(2)] },
    { messages: [{ id: 'c' }], more: false, damage: [place(2), place(3)] },
  ]
  const asked: object[] = []
  const session = {
    messages: async (options: object) => {
      asked.push(options)
      return pages[asked.length - 1]
    },
  }
  const damage = await readDamage(session as unknown as DamagedSession)
  expect(damage.map(({ position }) => position)).toEqual([1, 2, 3])
  expect(asked).toMatchObject([
    { from: 'start', archived: true },
    { after: 'b', archived: true },
  ])
})

test('a page without a readable message ends the search for damage', async () => {
  const session = { messages: async () => ({ messages: [], more: true, damage: [place(1)] }) }
  expect(await readDamage(session as unknown as DamagedSession)).toHaveLength(1)
})

type TreeServer = Parameters<typeof wholeTree>[0]

/** Sessions with their parents; a parent that is not among them no longer exists. */
function family(parents: Readonly<Record<string, string | null>>): TreeServer {
  const session = (id: string) => ({
    info: async () => {
      const parent = parents[id]
      if (parent === undefined) throw new Error(`No session "${id}".`)
      return { parent: parent === null ? null : { session: parent } }
    },
    tree: async () => ({ session: id }),
  })
  return { session } as unknown as TreeServer
}

test.each([
  ['a session without a parent is the root', { a: null }, 'a', 'a'],
  ['the root is the first ancestor', { a: null, b: 'a', c: 'b' }, 'c', 'a'],
  ['a parent that no longer exists leaves its child as the root', { b: 'a', c: 'b' }, 'c', 'b'],
])('%s', async (_, parents, id, root) => {
  expect(await wholeTree(family(parents), id)).toEqual({ session: root })
})

test('a circle of parents ends', async () => {
  expect(await wholeTree(family({ a: 'b', b: 'a' }), 'a')).toEqual({ session: 'a' })
})

test('the tree of a session that does not exist is an error', async () => {
  await expect(wholeTree(family({}), 'a')).rejects.toThrow('No session "a".')
})

test('the next page of a tree is added below the session at which it continues', async () => {
  const node = (session: string, ...children: object[]): object => ({ session, children })
  const tree = { ...node('a', node('b', node('c'))), cursor: '1' } as unknown as TreePage
  const page = { ...node('b', node('d', node('e'))), continued: true, cursor: '2' }
  const server = { session: () => ({ tree: async () => page }) } as unknown as TreeServer
  expect(await withNextPage(server, tree)).toEqual({ ...node('a', node('b', node('c'), node('d', node('e')))), cursor: '2' })
})

type Branch = Parameters<typeof partingOf>[0]

/** A session with these message ids; undefined where a message cannot be read. */
function branch(...ids: readonly (string | undefined)[]): Branch {
  const session = {
    info: async () => ({ totalMessageCount: ids.length }),
    messages: async ({ depth }: { depth: number }) => ({ messages: ids[depth - 1] === undefined ? [] : [{ id: ids[depth - 1] }] }),
  }
  return session as unknown as Branch
}

test.each([
  ['nothing', branch('x'), branch('y'), 0],
  ['nothing with an empty session', branch(), branch('a'), 0],
  ['all of the shorter one', branch('a', 'b', 'c'), branch('a', 'b'), 2],
  ['everything up to the fork', branch('a', 'b', 'c', 'd', 'e'), branch('a', 'b', 'c', 'y', 'z', 'w'), 3],
  ['nothing from an unreadable message on', branch('a', undefined), branch('a', undefined), 1],
])('two sessions share %s', async (_, one, other, shared) => {
  expect(await partingOf(one, other)).toBe(shared)
})
