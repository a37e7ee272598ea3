/**
 * Removes the checkpoints of a thread that are not needed to go on. A delta channel has its value in the writes of the checkpoints before,
 * back to the last one that holds it whole: those stay, or it would silently lose what was written.
 */
import type { CheckpointMetadata, SerializerProtocol } from '@langchain/langgraph-checkpoint'
import type { Entry } from '../../session/records.ts'
import { unpack } from './packed.ts'
import { CHECKPOINTS, type CheckpointRow, keyOf, type Thread, VALUES, WRITES } from './thread.ts'
import { keysOfWrites } from './writes.ts'

export async function prune(thread: Thread, serde: SerializerProtocol): Promise<void> {
  await thread.change(async () => {
    const rows: CheckpointRow[] = []
    for await (const row of thread.rows()) rows.push(row)
    const kept = new Set<CheckpointRow>()
    for (const ns of new Set(rows.map((row) => row.ns))) {
      const own = rows.filter((row) => row.ns === ns)
      for (const row of await neededOf(serde, own)) kept.add(row)
    }
    const values = new Set([...kept].flatMap(valueKeys))
    const entries: Entry[] = []
    for (const row of rows) {
      if (kept.has(row)) continue
      entries.push({ channel: CHECKPOINTS, key: keyOf(row.ns, row.id) })
      for (const key of await keysOfWrites(thread, { ns: row.ns, checkpoint: row.id })) entries.push({ channel: WRITES, key })
      for (const key of valueKeys(row)) if (!values.has(key)) entries.push({ channel: VALUES, key })
    }
    const unique = [...new Map(entries.map((entry) => [`${entry.channel} ${entry.key}`, entry])).values()]
    return unique.length === 0 ? undefined : { entries: unique }
  })
}

/** The newest checkpoint of a namespace, and those that its delta channels rest on. */
async function neededOf(serde: SerializerProtocol, rows: readonly CheckpointRow[]): Promise<CheckpointRow[]> {
  const newest = rows.reduce((a, b) => (a.id > b.id ? a : b))
  const { counters_since_delta_snapshot: counters = {} } = await unpack<CheckpointMetadata>(serde, newest.metadata)
  const open = new Set(Object.keys(counters).filter((channel) => newest.values[channel] === undefined))
  const needed = [newest]
  for (let parent = newest.parent; open.size > 0 && parent !== null; ) {
    const row = rows.find(({ id }) => id === parent)
    if (row === undefined) break
    needed.push(row)
    for (const channel of open) if (row.values[channel] !== undefined) open.delete(channel)
    parent = row.parent
  }
  return needed
}

function valueKeys({ values }: CheckpointRow): string[] {
  return Object.values(values).flatMap((ref) => ('entry' in ref ? [ref.entry] : []))
}
