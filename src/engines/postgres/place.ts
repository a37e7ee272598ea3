/** Where a store in PostgreSQL is, and how it is reached. */
import pg, { type ClientConfig, type Pool, type PoolConfig } from 'pg'

export interface PostgresPlace {
  /** `postgres://user:password@host:port/database?schema=holdfast`, with whatever else the driver knows (`sslmode`, …). */
  readonly url?: string
  /** A pool of your own, in place of an address. It is not ended with the store. */
  readonly pool?: Pool
  /** The schema that holds the store's tables; `holdfast` unless the address says otherwise. One database may hold several stores. */
  readonly schema?: string
  /** Asked for each time a connection is made: for passwords that expire. */
  readonly password?: string | (() => string | Promise<string>)
  /** Connections of this process at most; 10 unless told. Two are for appends, one for hints, the others for reading. */
  readonly connections?: number
  /** How long to wait for a connection, and for an answer. */
  readonly connectTimeoutMs?: number
  readonly queryTimeoutMs?: number
}

const DEFAULT_SCHEMA = 'holdfast'
const CONNECT_TIMEOUT_MS = 10_000
const QUERY_TIMEOUT_MS = 60_000
const CONNECTIONS = 10

function isPostgresUrl(where: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(where)
}

/** The schema of a place, and how its connections are made; undefined if it brings its pool. TypeError if it names nothing that can be. */
export function readPlace(place: PostgresPlace): { readonly schema: string; readonly config: PoolConfig | undefined } {
  if ((place.url === undefined) === (place.pool === undefined)) throw new TypeError('A store in PostgreSQL needs a `url` or a `pool`.')
  const { url, schema: fromUrl } = place.url === undefined ? { url: undefined, schema: undefined } : readUrl(place.url)
  const schema = place.schema ?? fromUrl ?? DEFAULT_SCHEMA
  // Names that need no thought in any tool, and leave room for what is put around them.
  if (!/^[a-z_][a-z0-9_]{0,47}$/.test(schema)) {
    throw new TypeError(
      `The schema of a store is named with small letters, digits and _, 48 at most, no digit first; got ${JSON.stringify(schema)}.`,
    )
  }
  if (url === undefined) return { schema, config: undefined }
  const { password, connections = CONNECTIONS, connectTimeoutMs = CONNECT_TIMEOUT_MS, queryTimeoutMs = QUERY_TIMEOUT_MS } = place
  if (!Number.isSafeInteger(connections) || connections < 1) throw new TypeError(`\`connections\` must be 1 or more; got ${connections}.`)
  return {
    schema,
    config: {
      connectionString: url,
      application_name: 'holdfast',
      max: connections,
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: queryTimeoutMs,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      // A process that has nothing else to do may end.
      allowExitOnIdle: true,
      ...(password === undefined ? {} : { Client: clientWith(password) }),
    },
  }
}

/** The driver prefers an address to whatever is told beside it, also where the address has no password. */
function clientWith(password: NonNullable<PostgresPlace['password']>): NonNullable<PoolConfig['Client']> {
  return class extends pg.Client {
    constructor(config?: ClientConfig) {
      super(config)
      Object.assign(this, { password })
    }
  }
}

/** What Holdfast takes from an address itself is not for the driver. */
function readUrl(text: string): { url: string; schema: string | undefined } {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new TypeError('The address of the database cannot be read. It looks like postgres://user:password@host:5432/database.')
  }
  if (!isPostgresUrl(text)) throw new TypeError(`The address of a database begins with postgres://; got ${url.protocol}//.`)
  const schema = url.searchParams.get('schema') ?? undefined
  url.searchParams.delete('schema')
  return { url: url.toString(), schema }
}
