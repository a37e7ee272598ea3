/**
 * Every limit of the format and of the journal protocol. They are enforced before a byte is written.
 * Limits of the format must only ever grow: a smaller one would make old journals unreadable.
 */

/**
 * Limits of what callers give and ask for. They may rely on these: no release makes one smaller.
 *
 * @example const page = await session.messages({ limit: LIMITS.pageMessages })
 */
export const CALLER_LIMITS = {
  /** One record: what a call writes, as JSON. */
  recordBytes: 8 * 1024 * 1024,
  /** Session ids, space names, message ids and operation keys, as UTF-8. */
  idBytes: 512,
  /** Messages in one record: an index into a record must fit two bytes of an id file. */
  messagesPerRecord: 10_000,
  /** Messages in one page, and sessions. */
  pageMessages: 1000,
  /** What a page holds, as JSON: of messages, records, entries or revisions. It has fewer than asked for if they are larger; one always fits. */
  pageBytes: 4 * 1024 * 1024,
  pageSessions: 1000,
  /** Hits of one search; fields of metadata that one list may be filtered by. */
  pageHits: 200,
  listedFields: 8,
  /** Messages that a commit may keep live. */
  keptMessages: 10_000,
  /** Titles and workspaces; metadata and policies, each as JSON; tags of one session. */
  titleBytes: 4096,
  metadataBytes: 64 * 1024,
  tags: 100,
  /** What a session's checkpoint lists one by one. */
  branches: 50_000,
  archives: 50_000,
  snapshots: 10_000,
  forks: 10_000,
  shares: 10_000,
  channels: 1000,
  models: 1000,
  /** Nesting of a message; deeper JSON can overflow a parser's stack. */
  jsonDepth: 256,
} as const satisfies Record<string, number>

export const LIMITS = {
  ...CALLER_LIMITS,
  /** One group of lines that is written at once. */
  groupBytes: 8 * 1024 * 1024,
  /** A group is closed once it holds this much, so that building it does not hold up the event loop. */
  groupTargetBytes: 512 * 1024,
  /** A segment is sealed once it holds this much, or `segmentPerCheckpoint` times its checkpoint, whichever is more. */
  segmentBytes: 512 * 1024,
  segmentPerCheckpoint: 4,
  /** Groups up to this size are written without leaving the thread: under contention the gap between look and write decides. */
  syncWriteBytes: 256 * 1024,
  /** After this many lost races even a large group is written without leaving the thread, so that it cannot starve. */
  racesBeforeHurry: 4,
  /** After this many lost races an append gives up with UNAVAILABLE. */
  races: 200,
  /** Operations that may wait for one journal in one process. */
  queueLength: 10_000,
  /** Bytes read from a journal at once. */
  readBytes: 1024 * 1024,
  /** Kept free by a file of its own, and released for delete, purge and seal. */
  reserveBytes: 1024 * 1024,
  /** Sessions that one store keeps in memory. */
  replicas: 2500,
  /** File descriptors that a process with one store holds at most, connections of clients not counted; fewer where the system gives fewer. */
  descriptors: 1024,
  /** Segments that one store keeps open; fewer where its descriptors do not suffice. */
  openSegments: 2500,
  /** Parts of id files that one store keeps in memory. */
  idCacheBytes: 16 * 1024 * 1024,
  /** Shards of watermarks that one store keeps in memory; one is compacted once it holds this much, and several times what it needs. */
  watermarkShards: 64,
  watermarkBytes: 32 * 1024,
  /** A feed file is left for a new one once it holds this much; this many are kept. */
  feedBytes: 4 * 1024 * 1024,
  feedFiles: 4,
} as const satisfies Record<string, number>

/** The limits that an opener may set otherwise. */
export type Limits = Readonly<Record<keyof typeof LIMITS, number>>
