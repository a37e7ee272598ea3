/** What one server lets one caller do. Everything that can grow has its limit here; limits of records are those of the store. */
import { LIMITS } from '../record/limits.ts'

export const SERVER_LIMITS = {
  /** A body may hold one record of the store, and what stands around it. */
  bodyBytes: LIMITS.recordBytes + 64 * 1024,
  /** Values in a body, those inside of others included: many small ones take long to parse, and much memory. */
  bodyValues: 50_000,
  /** The body of a sign-in, which needs no key. */
  loginBytes: 4096,
  /** A file to be imported, as it is sent and as it is without compression. */
  importBytes: 64 * 1024 * 1024,
  importedBytes: 256 * 1024 * 1024,
  /** Messages of one batch: what clients of this interface know. */
  batchMessages: 100,
  /** Requests in progress, of all keys and of one key. More are refused. */
  requests: 2000,
  requestsOfKey: 1000,
  /** What runs at once if several keys send requests: of all keys together, and of one key at least (`fair-queue.ts`). */
  runningOfKeys: 32,
  runningOfKey: 4,
  /** Look-ups of unknown keys that run at once for one address. */
  lookupsOfAddress: 4,
  /** Bytes of bodies that arrive and of answers that are not read yet, of all keys and of one key. */
  heldBytes: 512 * 1024 * 1024,
  heldBytesOfKey: 192 * 1024 * 1024,
  /** Streams of events, of all keys, and the share of them that one key may have. */
  followers: 20_000,
  shareOfFollowers: 0.6,
  /** Bytes that wait for a follower that does not read; beyond that it is cut off, and may resume. */
  followerBytes: 1024 * 1024,
  /** Requests of one key a second, and how many may come at once. */
  requestsPerSecond: 20_000,
  requestBurst: 40_000,
  /** Attempts without a good key, and openings of shares, of one address: a second, and at once. */
  attemptsPerSecond: 5,
  attemptBurst: 100,
  /** Addresses and keys that are counted; the longest unseen is forgotten first. */
  counted: 10_000,
  /** How long the head of a request, and all of it, may take to arrive. A connection that dribbles holds nothing for long. */
  headMs: 10_000,
  requestMs: 60_000,
  /** How long a connection may stay open between requests. */
  idleMs: 65_000,
  /** How long a commit is waited for, at most, unless the caller wants less. */
  waitMs: 120_000,
  /** How long the worker inside rests between two looks at what has changed; a commit at this server wakes it. */
  workerRestMs: 250,
  /** Followers hear something at least this often, so that what lies between does not take them for dead. */
  heartbeatMs: 15_000,
  /** What is under way when the server stops has this long. */
  stopMs: 8000,
  /** Tokens live this long at most, and unless told. */
  tokenSeconds: 24 * 3600,
  tokenDefaultSeconds: 900,
  /** What a browser was given by the ready link. */
  cookieSeconds: 30 * 24 * 3600,
  /** Answers from this size on are compressed if the caller takes that. */
  compressBytes: 1024,
  /** How much of an export is held to learn what it lacks before its header is sent. */
  heldExportCharacters: 1024 * 1024,
  /** Messages that are looked through for the outputs of tools, from the newest on. */
  toolResultMessages: 10_000,
} as const satisfies Record<string, number>
