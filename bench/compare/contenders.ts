import type { Contender } from './contender.ts'
import { holdfast } from './holdfast.ts'
import { jsonl, jsonlFlushed } from './jsonl.ts'
import { langgraphMemory, langgraphSqlite } from './langgraph.ts'
import { lmdb } from './lmdb.ts'
import { openaiMemory } from './openai-memory.ts'
import { sqlite } from './sqlite.ts'

/** In the order of the table: who syncs, who only writes, who keeps nothing. */
export const CONTENDERS: readonly Contender[] = [
  holdfast,
  sqlite,
  lmdb,
  jsonlFlushed,
  jsonl,
  langgraphSqlite,
  openaiMemory,
  langgraphMemory,
]

export function contenderNamed(name: string): Contender {
  const found = CONTENDERS.find((one) => one.name === name)
  if (found === undefined) throw new Error(`There is no contender "${name}".`)
  return found
}
