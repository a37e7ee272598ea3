/** An export of all sessions, of which one is damaged and another one is its fork. */
import { truncate } from 'node:fs/promises'
import { beforeEach, expect, test } from 'vitest'
import { exportFrom } from '../../src/transfer/export/export.ts'
import { useDirectory } from '../store/directory.ts'
import { linesOf, rot, segmentsOf } from '../store/spoil.ts'

const directory = useDirectory()

beforeEach(async () => {
  const store = await directory().open()
  const parent = await store.create({ id: 'parent' })
  await parent.append({ role: 'user', content: 'x' }, { ids: ['x'] })
  const fork = await parent.fork({ id: 'fork' })
  await fork.append({ role: 'user', content: 'y' }, { ids: ['y'] })
  await store.close()
})

interface Exported {
  /** The ids of the messages that each session has in the export. */
  readonly messages: Readonly<Record<string, readonly string[]>>
  /** Per session: how many damaged places were reported, and whether it is in the export. */
  readonly reports: Readonly<Record<string, readonly [places: number, isExported: boolean]>>
}

async function exported(): Promise<Exported> {
  const store = await directory().open()
  const messages: Record<string, string[]> = {}
  const reports: Record<string, [number, boolean]> = {}
  let text = ''
  for await (const piece of exportFrom(store, { onSession: (id, damage, isExported) => (reports[id] = [damage.length, isExported]) }))
    text += piece
  let session = ''
  for (const line of text.split('\n').slice(0, -1)) {
    const item = JSON.parse(line) as { kind: string; session: string; id: string }
    if (item.kind === 'session') {
      session = item.session
      messages[session] = []
    } else if (item.kind === 'message') messages[session]?.push(item.id)
  }
  return { messages, reports }
}

async function rotAll(type: string): Promise<void> {
  for (const line of (await linesOf(directory().path, 'parent')).filter((one) => one.type === type)) await rot(line)
}

test('a session that does not say its id is reported, and its fork has the messages that it began with', async () => {
  await rotAll('session.created')
  expect(await exported()).toEqual({ messages: { fork: ['x', 'y'] }, reports: { parent: [2, false], fork: [0, true] } })
})

test('a parent that lost the record of the fork is exported with its messages', async () => {
  await rotAll('fork.granted')
  expect(await exported()).toEqual({ messages: { parent: ['x'], fork: ['y'] }, reports: { parent: [1, true], fork: [0, true] } })
})

test('what vanished with a parent is reported with its fork too', async () => {
  for (const segment of await segmentsOf(directory().path, 'parent')) await truncate(segment, 0)
  expect(await exported()).toEqual({ messages: { fork: ['y'] }, reports: { parent: [1, false], fork: [1, true] } })
})
