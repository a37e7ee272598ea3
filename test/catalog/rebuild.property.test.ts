import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Worker } from '../../src/commit/worker.ts'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import { HoldfastError } from '../../src/errors.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import type { ListOptions } from '../../src/store/list.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { unsynced } from '../damage/on-disk.ts'
import { runs } from '../long.ts'
import { answersOf, answersWithoutText } from './answers.ts'
import { withoutCatalog } from './without-catalog.ts'

const WORDS = ['apple', 'pears', 'tea', '绿茶', 'prefer']
const SESSIONS = ['a', 'b', 'c']
const FILTERS: readonly ListOptions[] = [
  { tag: 'apple' },
  { owner: 'tea' },
  { workspace: '绿茶' },
  { parent: 'a' },
  { model: 'm' },
  { query: 'PEA tea' },
  { metadata: { first: 'apple' } },
  { metadata: { all: ['tea'], first: 'tea' } },
  { from: new Date(0), to: new Date() },
  { to: new Date(0) },
  { tag: 'apple', status: 'deleted' },
]

type Step =
  | { readonly kind: 'append'; readonly session: string; readonly words: readonly string[]; readonly batch: number }
  | { readonly kind: 'replace' | 'revert' | 'fork'; readonly session: string; readonly message: number; readonly words: readonly string[] }
  | { readonly kind: 'commit' | 'undo' | 'delete' | 'restore' | 'create' | 'retract' | 'usage'; readonly session: string }
  | { readonly kind: 'describe'; readonly session: string; readonly words: readonly string[] }
  | { readonly kind: 'work' | 'look' | 'purge' }

const session = fc.constantFrom(...SESSIONS, 'fork of a', 'fork of b')
const words = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 4 })
const message = fc.nat({ max: 30 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('append' as const), session, words, batch: fc.integer({ min: 1, max: 3 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('replace' as const, 'revert' as const, 'fork' as const), session, message, words }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom(...(['commit', 'undo', 'delete', 'restore', 'create', 'retract', 'usage'] as const)),
      session,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('describe' as const), session, words }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('work' as const, 'look' as const, 'look' as const, 'purge' as const) }) },
)

/** Carries out a step; what the store refuses does not happen. */
async function perform(store: Store, one: Step, count: { next: number }): Promise<void> {
  if (!('session' in one)) {
    if (one.kind === 'work') await new Worker(store).drain()
    // Indexing now: the history goes on from what is indexed.
    else if (one.kind === 'look') await store.search('apple')
    else for await (const _ of store.purge({ olderThanMs: 0 }));
    return
  }
  const of = store.session(one.session)
  const id = async (index: number): Promise<string> => {
    const { messages } = await of.messages({ archived: true, limit: 1000 })
    return messages[index % Math.max(1, messages.length)]?.id ?? 'none'
  }
  if (one.kind === 'append') {
    await of.append(
      Array.from({ length: one.batch }, () => ({ id: `m${count.next++}`, role: 'user', content: `I ${one.words.join(' ')} it.` })),
    )
  } else if (one.kind === 'replace') await of.replace(await id(one.message), { role: 'assistant', content: one.words.join(' ') })
  else if (one.kind === 'revert') await of.revert({ message: await id(one.message) })
  else if (one.kind === 'fork') await of.fork({ id: `fork of ${one.session.at(-1)}`, at: await id(one.message) })
  else if (one.kind === 'describe') {
    const [first = null, second = null] = one.words
    await of.describe({
      title: one.words.join(' '),
      tags: one.words,
      owner: first,
      workspace: second,
      metadata: { first, all: [...one.words] },
    })
  } else if (one.kind === 'commit') await of.commit({ keep: 1 })
  else if (one.kind === 'undo') await of.undo()
  else if (one.kind === 'delete') await of.delete()
  else if (one.kind === 'restore') await of.restore()
  else if (one.kind === 'create') await store.create({ id: one.session })
  else if (one.kind === 'retract') await of.retractMemories(1)
  else await of.recordUsage({ model: 'm', inputTokens: 1, outputTokens: 2 })
}

test('after any history, a catalog that followed it equals one that is made anew from the journals, and a look at every session', {
  timeout: 240_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const directory = await mkdtemp(join(tmpdir(), 'holdfast-'))
      const engine = () => openFilesEngine({ directory, keysOf: sessionReducer.keysOf, disk: unsynced })
      const open = async (): Promise<Store> => openStore(await engine(), { limits: { segmentBytes: 1500 } })
      const [store, fresh, scanning] = [await open(), await open(), await openStore(withoutCatalog(await engine()))]
      // On the disk itself, where a catalog is made in a file of its own.
      const beside = await openStore(directory)
      try {
        const count = { next: 0 }
        for (const one of steps) {
          await perform(store, one, count).catch((error: unknown) => {
            if (!(error instanceof HoldfastError)) throw error
          })
        }
        const asked = { words: WORDS, owners: [null, ...WORDS], sessions: [...SESSIONS, 'fork of a', 'fork of b'], filters: FILTERS }
        const answers = await answersOf(store, asked)
        expect(answers).toMatchObject(await answersWithoutText(scanning, asked))
        expect(answers).toEqual(await answersOf(fresh, asked))
        await beside.rebuildCatalog()
        expect(answers).toEqual(await answersOf(beside, asked))
      } finally {
        await store.close()
        await fresh.close()
        await scanning.close()
        await beside.close()
        await rm(directory, { recursive: true })
      }
    }),
    { numRuns: runs(12, 60) },
  )
})
