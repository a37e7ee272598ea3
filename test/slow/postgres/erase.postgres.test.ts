/** Erasing in PostgreSQL: no row of any table has what was erased, in any of the forms in which it was kept. */
import { expect, onTestFinished, test } from 'vitest'
import { Worker } from '../../../src/commit/worker.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { formsOf } from '../../erase/traces.ts'
import { newDatabase, withClient } from '../../postgres/database.ts'

const WORDS = ['Quagmire', 'quagmire', 'Xanadu', 'xanadu']
const SECRET = 'Quagmire "lives" in Xanadu'

/** The tables in which one of the words stands, as text or as bytes. */
async function tracesIn(url: string, ...more: readonly string[]): Promise<string[]> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) AS name FROM information_schema.tables
       WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`,
    )
    const found: string[] = []
    for (const { name } of rows) {
      for (const word of [...WORDS, ...more]) {
        // Bytes are told as hexadecimal digits.
        const forms = formsOf(word).flatMap((form) => [form, Buffer.from(form).toString('hex')])
        const { rowCount } = await client.query(
          `SELECT 1 FROM ${name} t WHERE EXISTS (SELECT 1 FROM unnest($1::text[]) f WHERE strpos(t::text, f) > 0) LIMIT 1`,
          [forms],
        )
        if (rowCount !== 0) found.push(`${name}: ${word}`)
      }
    }
    return found
  })
}

test('an erased message is in no table any more, nor what was made from it; everything else is as it was', async () => {
  const url = await newDatabase()
  const store = await openStore(url)
  onTestFinished(() => store.close())
  const session = await store.create({ id: 's', owner: 'o' })
  await session.append([
    { id: 'a', role: 'user', content: 'first' },
    { id: 'm', role: 'user', content: SECRET },
    { id: 'z', role: 'assistant', content: 'last' },
  ])
  const fork = await session.fork({ id: 'f' })
  await session.replace('m', { role: 'user', content: `corrected: ${SECRET}` })
  await session.commit()
  await new Worker(store).drain()
  expect((await store.search('xanadu')).hits.length).toBeGreaterThan(0)
  expect((await tracesIn(url, SECRET)).length).toBeGreaterThan(2)

  await session.erase('m')
  expect(await tracesIn(url, SECRET)).toEqual([])
  expect((await store.search('xanadu')).hits).toEqual([])
  for (const one of [session, fork]) {
    const { messages } = await one.messages({ archived: true })
    expect(messages.map(({ id }) => id)).toEqual(['a', 'm', 'z'])
    expect([messages[0]?.message.content, messages[2]?.message.content]).toEqual(['first', 'last'])
  }
  // Its id stays known: a repeated append writes nothing, and another message cannot have that id.
  expect(await session.append({ role: 'user', content: SECRET }, { ids: ['m'] })).toMatchObject({ duplicate: true })
  await expect(session.append({ role: 'user', content: 'other' }, { ids: ['m'] })).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(await tracesIn(url, SECRET)).toEqual([])
})

test('nothing of an owner who was erased, nor of a session that was purged, is in any table', async () => {
  const url = await newDatabase()
  const store = await openStore(url)
  onTestFinished(() => store.close())
  for (const [id, owner] of [
    ['s', 'o'],
    ['t', 'p'],
  ] as const) {
    const session = await store.create({ id, owner, title: `Title of ${SECRET}`, tags: ['Xanadu'] })
    await session.append({ id: 'm', role: 'user', content: SECRET })
    await session.commit()
    await new Worker(store).drain()
    await session.fork({ id: `${id} fork`, owner })
  }
  await store.search('xanadu')
  for await (const { action } of store.erase({ owner: 'o' })) expect(action).toBe('purged')
  expect((await tracesIn(url, SECRET)).length).toBeGreaterThan(2)
  for (const id of ['t fork', 't']) await store.session(id).delete()
  for (let i = 0; i < 2; i++) for await (const _ of store.purge({ olderThanMs: 0 }));
  await store.list()
  expect(await tracesIn(url, SECRET)).toEqual([])
})
