/** What the simulation of the store found, each as small as it can be. */

import { expect, test } from 'vitest'
import { encodeCheckpoint, LEAD_IN } from '../../src/record/line.ts'
import type { CheckpointDraft, JsonObject } from '../../src/record/record.ts'
import { MemoryDisk } from '../doctor/disk.ts'
import { findingsIn, openOn } from '../doctor/sample.ts'
import { change, type Found, fillLine, lines, segmentPath, ZERO } from '../doctor/spoil.ts'

/** The text of every message that a new process is shown. */
async function shownOn(disk: MemoryDisk): Promise<unknown[]> {
  const store = await openOn(disk, 1_000_000)
  const { messages } = await store.session<JsonObject>('s').messages()
  await store.close()
  return messages.map(({ message }) => message.content)
}

/** A session with a message whose sync failed, and so many syncs of the segments that then were to carry it. */
async function failingSyncs(count: number): Promise<MemoryDisk> {
  const disk = new MemoryDisk()
  const store = await openOn(disk, 1_000_000)
  const session = store.session<JsonObject>('s')
  await session.append({ content: 'synced' })
  disk.failSyncs = 1 + count
  await expect(session.append({ content: 'carried' })).rejects.toMatchObject({ outcome: 'unknown' })
  // The rest of the failing syncs hits whoever goes on with it.
  while (disk.failSyncs > 0) await session.version().catch(() => undefined)
  await store.close()
  // What was not synced is gone with the power.
  fillLine(disk, 's', 0, 'messages.appended', -1, ZERO)
  return disk
}

async function appendLater(disk: MemoryDisk): Promise<void> {
  const store = await openOn(disk, 1_000_000)
  await store.session<JsonObject>('s').append({ content: 'later' })
  await store.close()
}

test('a line that is carried twice is shown, although the preamble that carried it first is lost', async () => {
  const disk = await failingSyncs(1)
  await appendLater(disk)
  expect(await shownOn(disk)).toEqual(['synced', 'carried', 'later'])
  change(disk, segmentPath(disk, 's', 1), (bytes) => bytes.fill(ZERO))
  expect(await shownOn(disk)).toEqual(['synced', 'carried', 'later'])
  expect((await findingsIn(disk)).filter(({ severity }) => severity === 'damage')).toEqual([])
})

test('a carried line is shown, although a helper that had nothing to carry was first', async () => {
  const disk = await failingSyncs(0)
  const [line] = lines(disk, 's', 1, 'checkpoint') as [Found]
  const { base, id, at, prev, state } = line.record as unknown as CheckpointDraft
  const other = encodeCheckpoint({ base, id, at, prev, state, carries: 0 })
  change(disk, segmentPath(disk, 's', 1), (bytes) => Buffer.concat([LEAD_IN, other, bytes]))
  await appendLater(disk)
  expect(await shownOn(disk)).toEqual(['synced', 'carried', 'later'])
})

test('a purge marks a session as purged, although two helpers have just made its last segment', async () => {
  const disk = await sealedWithItsDelete()
  const store = await openOn(disk, 1)
  const session = store.session<JsonObject>('s')
  // Refused, but whoever wants to write makes the next segment first.
  await expect(session.delete()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await store.close()
  change(disk, segmentPath(disk, 's', -1), (bytes) => Buffer.concat([bytes, bytes]))
  expect(lines(disk, 's', -1, 'checkpoint')).toHaveLength(2)
  const purging = await openOn(disk, 1, 16)
  const actions: string[] = []
  for await (const { action } of purging.purge({ olderThanMs: 0 })) actions.push(action)
  expect(actions).toEqual(['purged'])
  await expect(purging.session<JsonObject>('s').restore()).rejects.toMatchObject({ details: { reason: 'purged' } })
  await purging.close()
  expect(await findingsIn(disk)).toEqual([])
})

/** A session whose last segment was sealed by the very group that deleted it: how long a message that takes is found by trying. */
async function sealedWithItsDelete(): Promise<MemoryDisk> {
  for (let length = 0; length < 4_000; length += 100) {
    const disk = new MemoryDisk()
    const store = await openOn(disk, 1)
    const session = store.session<JsonObject>('s')
    await session.append({ content: 'first' })
    await session.append({ content: 'x'.repeat(length) })
    await session.delete()
    await store.close()
    if (lines(disk, 's', -1, 'session.deleted').length > 0 && lines(disk, 's', -1, 'segment.sealed').length > 0) return disk
  }
  throw new Error('No length does it.')
}
