/**
 * Keys: message ids and operation keys, which make an append that is tried twice happen once. A key is stored as a hash, because
 * ids may be long and id files have entries of one size.
 */
import { hash } from 'node:crypto'
import type { Counted } from './fold.ts'
import { decodeLine } from './line.ts'

/** 128 bits of SHA-256, as 32 hex digits. */
export type KeyHash = string

/** What is remembered of a key: where its record stands, and a digest of what the caller had sent with it. */
export interface KeyEntry {
  readonly key: KeyHash
  /** Position, length and crc of the record line: its version can be told without reading it. */
  readonly at: number
  readonly length: number
  readonly crc: string
  /** Which message of the record. */
  readonly index: number
  /** Digest of the caller's body, as 32 hex digits. */
  readonly digest: string
}

/** A record whose messages have ids that were made from its own: their keys can be told from this, and hardly anybody asks for them. */
export interface MadeIds extends Pick<KeyEntry, 'at' | 'length' | 'crc'> {
  /** The id of the record. */
  readonly id: string
  /** How many messages it has. */
  readonly count: number
}

/** Which keys a counted record holds, by ascending index. Engines are handed this function, because they never look into payloads themselves. */
export type KeysOf = (counted: Counted) => readonly KeyEntry[]

export type KeyKind = 'message' | 'operation' | 'replacement' | 'entry'

const digits = Buffer.alloc(32)

export function hashKey(kind: KeyKind, key: string): KeyHash {
  // A piece of a text keeps the whole of it in memory, for as long as the key is remembered.
  digits.write(hash('sha256', `${kind} ${key}`, 'hex'), 0, digits.length, 'latin1')
  return digits.toString('latin1')
}

/** The keys of a line, wherever it stands: of one that counts nowhere, no index has any. */
export function keysOfLine(line: Uint8Array, keysOf: KeysOf): readonly KeyEntry[] {
  const decoded = decodeLine(line)
  if (decoded.kind !== 'record' || decoded.record.pos === undefined) return []
  const { record, crc } = decoded
  const at = decoded.record.pos
  return keysOf({ kind: 'counted', carried: false, record, at, end: at + line.length + 1, crc })
}
