/** Opening a store: the one place, beside the command line, that knows which engines there are. */
import { CatalogAccess } from '../catalog/catalog-access.ts'
import type { MasterKey } from '../encryption/master-key.ts'
import { type Clock, systemClock } from '../engine/clock.ts'
import { type DescriptorShares, descriptorsOfProcess, shareDescriptors } from '../engine/descriptors.ts'
import { type Ids, systemIds } from '../engine/ids.ts'
import { KEY_SPACE, keySession } from '../engine/names.ts'
import type { Engine } from '../engine/port.ts'
import { openFilesEngine } from '../engines/files/engine.ts'
import type { PostgresPlace } from '../engines/postgres/place.ts'
import { Replicas } from '../journal/replicas.ts'
import { redactor } from '../message/redact.ts'
import { LIMITS, type Limits } from '../record/limits.ts'
import { checkId, invalid } from '../session/check.ts'
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
  /** The space whose sessions the store shows. Defaults to `default`. */
  readonly space?: string
  /** Reserves the directory for this process, on a file system that does not order the appends of several. Defaults to false. */
  readonly exclusive?: boolean
  /** Whether to create and update the tables in PostgreSQL. Defaults to true. */
  readonly migrate?: boolean
  /** Sees every message before it is written, and changes or refuses it. Defaults to none. */
  readonly beforeAppend?: BeforeAppend
  /** Encrypts everything that is written, with a data key for each session, which the master key wraps. Defaults to none. */
  readonly encryption?: EncryptionOptions
  /** Enforces the quotas of spaces. A function is called for each refusal. Defaults to false. */
  readonly quotas?: boolean | QuotaRefused
  /** Removes keys, tokens and passwords of known forms before anything is written. Defaults to false. */
  readonly redact?: boolean
  readonly clock?: Clock
  readonly ids?: Ids
  /** Limits of what one process holds. Each defaults to its value in `LIMITS`; `descriptors`, the files of the store with its catalog, to 1,024. */
  readonly limits?: Partial<Pick<Limits, 'descriptors' | 'replicas' | 'segmentBytes' | 'openSegments' | 'idCacheBytes' | 'reserveBytes'>>
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
  /** Earlier master keys, for reading only, until `rotateKeys` has wrapped all data keys again. Defaults to none. */
  readonly formerKeys?: readonly (string | Uint8Array | MasterKey)[]
  /** Keeps the catalog in the store, with titles, tags and words in clear. Defaults to false: it is in memory only. */
  readonly indexInClear?: boolean
}

/**
 * Opens a store.
 *
 * @param where A directory, which is created if there is none; `postgres://…` or its parts; `memory:`; or an engine of your own.
 * @param options `space` defaults to `default`. All others default to off.
 * @returns The store. Close it, or declare it with `await using`.
 * @throws HoldfastError UNSUPPORTED_VERSION when newer software wrote the store.
 * @throws HoldfastError UNAVAILABLE when the store cannot be reached.
 * @throws HoldfastError UNREADABLE when the store may not be read, or the master key is wrong.
 * @throws HoldfastError INVALID_ARGUMENT when `where` is no place for a store, or the name of the space is empty or too long.
 * @throws TypeError when the address of a database cannot be read.
 * @example
 * await using store = await openStore('./store')
 * await store.session('support-42').append({ role: 'user', content: 'Hello' })
 */
export async function openStore(where: string | PostgresPlace | Engine, options: OpenOptions = {}): Promise<Store> {
  const { space = 'default', wrap = (engine) => engine } = options
  checkId('The name of a space', space)
  const { limits = {} } = options
  const shares = shareDescriptors({ ...descriptorsOfProcess(), most: limits.descriptors ?? LIMITS.descriptors })
  if (isEngine(where)) return storeOn(wrap(where), where, space, shares, options)
  const engine = wrap(await pick(where, shares, options))
  try {
    return await storeOn(engine, where, space, shares, options)
  } catch (error) {
    await engine.close()
    throw error
  }
}

async function storeOn(
  inner: Engine,
  where: string | PostgresPlace | Engine,
  space: string,
  shares: DescriptorShares,
  options: OpenOptions,
): Promise<Store> {
  const { clock = systemClock, ids = systemIds, limits = {} } = options
  const indexed = options.encryption?.indexInClear === true
  const { engine, dataKeys } = await encrypted(inner, options.encryption, indexed)
  const replicas = new Replicas({ reducer: sessionReducer, engine, dataKeys, clock, ids, limits: { ...LIMITS, ...limits } })
  // An engine of somebody's own, or one that has its directory for itself, cannot be opened once more by a thread.
  const threadable = typeof where === 'string' && options.exclusive !== true && options.brief !== true && dataKeys === undefined
  const catalog = new CatalogAccess({
    engine,
    dataKeys,
    clock,
    ids,
    threads: threadable && shares.catalogFiles > 0 ? shares : undefined,
    ...(dataKeys === undefined || indexed ? {} : { inMemory: true }),
  })
  const { beforeAppend } = options
  const { connections } = shares
  const shared = { engine, dataKeys, clock, ids, replicas, catalog, space, connections, recover: finishErasures }
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

async function pick(where: string | PostgresPlace, { files }: DescriptorShares, options: OpenOptions): Promise<Engine> {
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
    throw invalid(`A store is a directory, postgres://… or "memory:"; got ${where === '' ? 'an empty text' : `a ${scheme} address`}.`)
  }
  if (/^memory:/i.test(where))
    throw invalid(`A store in memory has no name: open "memory:". For a directory of this name, open ${JSON.stringify(`./${where}`)}.`)
  return openFilesEngine({ directory: where, keysOf, files, exclusive, mayBlock, clock, ids, limits })
}
