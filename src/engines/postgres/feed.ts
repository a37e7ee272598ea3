/**
 * Which journals changed. Every change puts the number of its transaction into the journal's row, and a cursor is a snapshot: the set of
 * transactions that could be seen when it was made. What changed since then is exactly what that snapshot does not see, in whatever order
 * transactions ended. No list is kept that could be trimmed, and no row is shared by all who write.
 *
 * Hints travel by NOTIFY, apart from the appends and few of them, because everybody who notifies waits for one lock of the database. Each
 * process listens with one connection. A pooler may drop all of that: whoever waits also looks from time to time.
 */
import type pg from 'pg'
import type { Clock } from '../../engine/clock.ts'
import type { Changes } from '../../engine/port.ts'
import { Watchers } from '../../engine/watchers.ts'
import type { Database, Statement } from './database.ts'
import { quoted } from './migrate.ts'

/** Hints of one process to the others come this often at most. */
const HINT_MS = 20
const LISTEN_AGAIN_MS = { first: 100, most: 10_000 }

/** A copy of the database goes its own way; another server, or one that was set back, counts transactions anew. */
const DATABASE = `(SELECT oid::text FROM pg_database WHERE datname = current_database())`
const CONTROL = `(SELECT '-' || system_identifier || '-' || timeline_id FROM pg_control_system(), pg_control_checkpoint())`

/**
 * A crash takes transactions that did not wait for the disk, and the server uses their numbers again. A change under such a number looks like an old
 * one to a snapshot from before, so a crash begins a new life. The server resets its statistics after a crash, and keeps them when it is stopped. Before
 * version 15 they cost a file to read, so there every start begins a new life. A replica has its own statistics, and takes the cursors of the server that it follows.
 */
const CRASH = `(SELECT '-' || (extract(epoch FROM stats_reset) * 1000000)::bigint FROM pg_stat_bgwriter)`
const START = `'-' || (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint`
const CHEAP_STATISTICS = 150_000

interface FeedOptions {
  readonly database: Database
  readonly clock: Clock
  readonly storeId: string
  /** Whether the user may ask which life of which server this is. */
  readonly told: boolean
  /** Of the server, as the number `server_version_num`. */
  readonly version: number
}

export class Feed {
  readonly #database: Database
  readonly #clock: Clock
  readonly #storeId: string
  readonly #channel: string
  readonly #changes: Statement
  readonly #notify: Statement
  readonly #watchers = new Watchers()
  readonly #closing = new AbortController()
  #listening: Promise<void> | undefined
  #hinting: Promise<void> | undefined
  #hintAgain = false

  constructor({ database, clock, storeId, told, version }: FeedOptions) {
    const crash = version >= CHEAP_STATISTICS ? CRASH : START
    const schema = quoted(database.schema)
    this.#database = database
    this.#clock = clock
    this.#storeId = storeId
    this.#channel = `holdfast_${database.schema}`
    this.#changes = {
      name: 'changes',
      text: `SELECT this.now::text, this.life, this.crash, j.name FROM (
  SELECT pg_current_snapshot() AS now, ${told ? `${DATABASE} || ${CONTROL}` : DATABASE} AS life,
    CASE WHEN pg_is_in_recovery() THEN '' ELSE ${crash} END AS crash
) this
LEFT JOIN ${schema}.journals j ON j.changed >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(j.changed, $1::pg_snapshot)`,
    }
    // A hint that is lost at a power loss is a hint that nobody needs: it does not wait for the disk.
    this.#notify = { name: 'notify', text: `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, '')` }
  }

  async changes(cursor?: string): Promise<Changes> {
    const from = parse(cursor)
    const rows = await this.#database.repeat(this.#changes, [from?.snapshot ?? null], 'What has changed could not be read')
    const { now, life, crash } = rows[0] as { now: string; life: string; crash: string }
    const next = `${this.#storeId}.${life}${crash}.${now}`
    const isReplica = crash === ''
    const isSameLife = from?.life === `${life}${crash}` || (isReplica && from?.life.startsWith(`${life}-`) === true)
    const fits = from?.storeId === this.#storeId && isSameLife && endOf(from.snapshot) <= endOf(now)
    if (!fits) return { cursor: next, names: [], reset: true }
    const names = rows.flatMap(({ name }) => (typeof name === 'string' ? [name] : []))
    // A cursor that is as good stays as it is: whoever keeps it need not write.
    return { cursor: names.length === 0 && cursor !== undefined ? cursor : next, names, reset: false }
  }

  watch(hint: () => void): () => void {
    const stop = this.#watchers.add(hint)
    // Of one connection alone nothing can be spared.
    if (this.#database.connections > 2) this.#listening ??= this.#listen()
    return stop
  }

  /** Something was written here. */
  announce(): void {
    this.#watchers.hint()
    this.#hintAgain = true
    this.#hinting ??= this.#tellOthers().finally(() => {
      this.#hinting = undefined
    })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#watchers.clear()
    await Promise.all([this.#listening, this.#hinting])
  }

  async #tellOthers(): Promise<void> {
    const { signal } = this.#closing
    while (this.#hintAgain && !signal.aborted) {
      this.#hintAgain = false
      // Hints may be missing: who misses this one looks by itself.
      await this.#database.run(this.#notify, [this.#channel]).catch(() => undefined)
      await this.#clock.sleep(HINT_MS, signal)
    }
  }

  /** Listens until the feed is closed, anew whenever the connection is lost; what came meanwhile may have been missed, which is a hint too. */
  async #listen(): Promise<void> {
    const { signal } = this.#closing
    let pauseMs = LISTEN_AGAIN_MS.first
    while (!signal.aborted) {
      const heard = await this.#listenOnce().catch(() => false)
      if (signal.aborted) return
      pauseMs = heard ? LISTEN_AGAIN_MS.first : Math.min(2 * pauseMs, LISTEN_AGAIN_MS.most)
      await this.#clock.sleep(pauseMs, signal)
      this.#watchers.hint()
    }
  }

  /** Resolves when the connection is lost or not needed any more. */
  async #listenOnce(): Promise<boolean> {
    const client: pg.PoolClient = await this.#database.connect()
    const { signal } = this.#closing
    try {
      const ended = new Promise<void>((resolve) => {
        client.once('error', () => resolve())
        client.once('end', () => resolve())
        signal.addEventListener('abort', () => resolve(), { once: true })
        if (signal.aborted) resolve()
      })
      client.on('notification', () => this.#watchers.hint())
      await client.query(`LISTEN ${quoted(this.#channel)}`)
      this.#watchers.hint()
      await ended
      return true
    } finally {
      client.removeAllListeners('notification')
      client.release(true)
    }
  }
}

interface Cursor {
  readonly storeId: string
  readonly life: string
  readonly snapshot: string
}

function parse(cursor: string | undefined): Cursor | undefined {
  const match = /^([0-9a-f-]{36})\.([0-9-]*)\.(\d{1,19}:\d{1,19}:[\d,]*)$/.exec(cursor ?? '')
  return match === null ? undefined : { storeId: match[1] as string, life: match[2] as string, snapshot: match[3] as string }
}

/** The first transaction that a snapshot knows nothing of. */
function endOf(snapshot: string): bigint {
  return BigInt(snapshot.split(':')[1] as string)
}
