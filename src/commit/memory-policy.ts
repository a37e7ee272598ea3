/**
 * What a session's `memory_policy` lets a commit draw from it, in the words of the clients that send it: `self` and `peer`, whose messages
 * memories are drawn from (a message of a peer names him in `peer_id`); `memory_types`, which kinds are kept; `working_memory`, whether there
 * is a summary at all. All of it unless told.
 */
import type { Json, JsonObject } from '../record/record.ts'

export interface MemoryPolicy {
  readonly drawsFrom: (message: JsonObject) => boolean
  readonly keeps: (category: string) => boolean
  readonly summarises: boolean
}

/** What clients call kinds that are called otherwise here. */
const CATEGORIES: Readonly<Record<string, string>> = {
  preferences: 'preference',
  instructions: 'instruction',
  facts: 'fact',
  entities: 'fact',
  events: 'fact',
}

export function memoryPolicyOf({ memory_policy: policy }: JsonObject): MemoryPolicy {
  const { self, peer, memory_types, working_memory } = isObject(policy) ? policy : {}
  const [fromSelf, fromPeers] = [isEnabled(self), isEnabled(peer)]
  const kinds = Array.isArray(memory_types) ? new Set(memory_types.flatMap(categoriesOf)) : undefined
  return {
    drawsFrom: ({ peer_id }) => (typeof peer_id === 'string' && peer_id !== '' ? fromPeers : fromSelf),
    keeps: (category) => kinds === undefined || kinds.has(category),
    summarises: isEnabled(working_memory),
  }
}

function categoriesOf(type: Json): string[] {
  return typeof type !== 'string' ? [] : [type, CATEGORIES[type] ?? type]
}

function isEnabled(target: Json | undefined): boolean {
  return !isObject(target) || target.enabled !== false
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
