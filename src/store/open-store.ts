/** Opening a store: the one place, beside the command line, that knows which engines there are. */
import { CatalogDoor } from '../catalog/door.ts'
import type { MasterKey } from '../encryption/master-key.ts'
import { type Clock, systemClock } from '../engine/clock.ts'
import { type Ids, systemIds } from '../engine/ids.ts'
import { KEY_SPACE, keySession } from '../engine/names.ts'
import type { Engine } from '../engine/port.ts'
import { openFilesEngine } from '../engines/files/engine.ts'
import type { PostgresPlace } from '../engines/postgres/place.ts'
import { Replicas } from '../journal/replicas.ts'
import { redactor } from '../message/redact.ts'
import { LIMITS, type Limits } from '../record/limits.ts'
import { checkId } from '../session/check.ts'
import { identityOf } from '../session/identity.ts'
import { sessionReducer } from '../session/reducer.ts'
import type { DataKeyStore } from './keys/data-key-store.ts'
import { fingerprintKey } from './keys/fingerprint-key.ts'
import { finishErasures } from './lifecycle/erase.ts'
import { both } from './messages/admission.ts'
import type { BeforeAppend } from './messages/before-append.ts'
import type { StoreParts } from './parts.ts'
import type { QuotaRefused } from './quotas/quota-port.ts'
import { Quotas } from './quotas/quotas.ts'
import { Store } from './store.ts'

export interface OpenOptions {
  /** Sessions of one space do not see those of another; `default` unless told. */
  readonly space?: string
  /** For one process alone, on a file system that does not keep the appends of several in one order. */
  readonly exclusive?: boolean
  /** False: the tables of a store in PostgreSQL are left as they are, for a user who may not change them. */
  readonly migrate?: boolean
  /** Sees every message before it is written, and changes or refuses it. */
  readonly beforeAppend?: BeforeAppend
  /** Seals everything that is written, with a key for each session that the master key wraps. */
  readonly encryption?: EncryptionOptions
  /** Enforces the quotas that were set for spaces; a function is told of everything that is refused, by which limit and whose. */
  readonly quotas?: boolean | QuotaRefused
  /** Takes keys, tokens and passwords of known forms out of what is said before it is written. */
  readonly redact?: boolean
  readonly clock?: Clock
  readonly ids?: Ids
  readonly limits?: Partial<Pick<Limits, 'replicas' | 'segmentBytes' | 'openSegments' | 'idCacheBytes' | 'reserveBytes'>>
  /** Puts something between the store and its engine, such as what counts its calls. @internal */
  readonly wrap?: (engine: Engine) => Engine
  /** For a process that asks once and ends: the catalog needs no thread of its own, which takes longer to start than to answer. @internal */
  readonly brief?: boolean
  /** For a thread or a command that does nothing else, and may wait for the disk. @internal */
  readonly mayBlock?: boolean
}

export interface EncryptionOptions {
  /** 32 bytes, or the same as text (64 hex digits, or base64); or what wraps and unwraps keys in its place, such as a service. */
  readonly masterKey: string | Uint8Array | MasterKey
  /** Master keys that wrapped keys before, for reading only: until `rotateKeys` has wrapped all of them anew. */
  readonly formerKeys?: readonly (string | Uint8Array | MasterKey)[]
  /** Lets the catalog lie in the store, with titles, tags and words in clear. Otherwise it is kept in memory alone. */
  readonly indexInClear?: boolean
}

/**
 * Opens a store: in a directory, which is created if there is none; in PostgreSQL, with an address (`postgres://…`) or its parts; in memory, with `memory:`;
 * or on an engine of your own.
 *
 * @example
 * await using store = await openStore('./store')
 * await store.session('support-42').append({ role: 'user', content: 'Hello' })
 * @throws HoldfastError UNSUPPORTED_VERSION for a store of newer software; UNAVAILABLE if it cannot be reached; UNREADABLE if it may not be read.
 */
export async function openStore(where: string | PostgresPlace | Engine, options: OpenOptions = {}): Promise<Store> {
  const { space = 'default', wrap = (engine) => engine } = options
  checkId('The name of a space', space)
  if (isEngine(where)) return storeOn(wrap(where), where, space, options)
  const engine = wrap(await pick(where, options))
  try {
    return await storeOn(engine, where, space, options)
  } catch (error) {
    await engine.close()
    throw error
  }
}

async function storeOn(inner: Engine, where: string | PostgresPlace | Engine, space: string, options: OpenOptions): Promise<Store> {
  const { clock = systemClock, ids = systemIds, limits = {} } = options
  const indexed = options.encryption?.indexInClear === true
  const { engine, dataKeys } = await encrypted(inner, options.encryption, indexed)
  const replicas = new Replicas({ reducer: sessionReducer, engine, dataKeys, clock, ids, limits: { ...LIMITS, ...limits } })
  // An engine of somebody's own, or one that has its directory for itself, cannot be opened once more by a thread.
  const threaded = typeof where === 'string' && options.exclusive !== true && options.brief !== true && dataKeys === undefined
  const catalog = new CatalogDoor({
    engine,
    dataKeys,
    clock,
    ids,
    threaded,
    ...(dataKeys === undefined || indexed ? {} : { inMemory: true }),
  })
  const { beforeAppend } = options
  const shared = { engine, dataKeys, clock, ids, replicas, catalog, space, recover: finishErasures }
  const { quotas } = options
  const parts: StoreParts = {
    ...shared,
    ...(beforeAppend === undefined ? {} : { beforeAppend }),
    ...(quotas === undefined || quotas === false ? {} : { quotas: new Quotas(shared, quotas === true ? undefined : quotas) }),
  }
  dataKeys?.attach(shared)
  if (options.encryption !== undefined) await dataKeys?.check()
  if (options.redact !== true) return new Store(parts)
  return new Store({ ...parts, beforeAppend: both(beforeAppend, redactor(await fingerprintKey(parts))) })
}

/** The engine as the session sees it. Without a master key, what is encrypted cannot be read, and nothing can be written. */
async function encrypted(
  engine: Engine,
  encryption: EncryptionOptions | undefined,
  indexed: boolean,
): Promise<{ engine: Engine; dataKeys: DataKeyStore | undefined }> {
  const keys = engine.journal(engine.name(KEY_SPACE, keySession(1)))
  if (encryption === undefined && (await keys.segments()).length === 0) return { engine, dataKeys: undefined }
  // Loaded when it is wanted, as most stores are not encrypted.
  const [{ DataKeyStore: Keys }, { masterKeyOf }, { EncryptedEngine }] = await Promise.all([
    import('./keys/data-key-store.ts'),
    import('../encryption/master-key.ts'),
    import('../encryption/encrypted-engine.ts'),
  ])
  const given = encryption === undefined ? [] : [encryption.masterKey, ...(encryption.formerKeys ?? [])]
  const dataKeys = new Keys(given.map(masterKeyOf))
  return { engine: new EncryptedEngine(engine, dataKeys, { indexed }), dataKeys }
}

function isEngine(where: string | PostgresPlace | Engine): where is Engine {
  return typeof where === 'object' && 'journal' in where
}

async function pick(where: string | PostgresPlace, options: OpenOptions): Promise<Engine> {
  const { exclusive = false, mayBlock = false, migrate, clock = systemClock, ids = systemIds, limits = {} } = options
  const { keysOf } = sessionReducer
  if (typeof where !== 'string' || /^postgres(?:ql)?:\/\//i.test(where)) {
    const { openPostgresEngine } = await import('../engines/postgres/engine.ts')
    const place = typeof where === 'string' ? { url: where } : where
    return openPostgresEngine({ ...place, ...(migrate === undefined ? {} : { migrate }), keysOf, identityOf })
  }
  if (where === 'memory:') {
    // Loaded when it is wanted: a command that begins anew for each message would pay for it every time.
    const { openMemoryEngine } = await import('../engines/memory/engine.ts')
    return openMemoryEngine({ keysOf })
  }
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(where)?.[1]
  if (where === '' || scheme !== undefined) {
    throw new TypeError(`A store is a directory, postgres://… or "memory:"; got ${where === '' ? 'an empty text' : `a ${scheme} address`}.`)
  }
  return openFilesEngine({ directory: where, keysOf, exclusive, mayBlock, clock, ids, limits })
}
