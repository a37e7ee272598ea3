/** Opening a store: the one place, beside the command line, that knows which engines there are. */
import { CatalogDoor } from '../catalog/door.ts'
import { type Clock, systemClock } from '../engine/clock.ts'
import { type Ids, systemIds } from '../engine/ids.ts'
import type { Engine } from '../engine/port.ts'
import { openFilesEngine } from '../engines/files/engine.ts'
import type { PostgresPlace } from '../engines/postgres/place.ts'
import { LIMITS, type Limits } from '../record/limits.ts'
import { checkId } from '../session/check.ts'
import { sessionModel } from '../session/model.ts'
import { redactor } from '../transfer/redact.ts'
import { type BeforeAppend, both } from './admission.ts'
import { fingerprintKey } from './fingerprint-key.ts'
import type { StoreParts } from './parts.ts'
import { Replicas } from './replicas.ts'
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
  /** Takes keys, tokens and passwords of known forms out of what is said before it is written. */
  readonly redact?: boolean
  readonly clock?: Clock
  readonly ids?: Ids
  readonly limits?: Partial<Pick<Limits, 'replicas' | 'segmentBytes' | 'openSegments' | 'idCacheBytes' | 'reserveBytes'>>
  /** Puts something between the store and its engine, such as what counts its calls. @internal */
  readonly wrap?: (engine: Engine) => Engine
  /** For a process that asks once and ends: the catalog needs no thread of its own, which takes longer to start than to answer. @internal */
  readonly brief?: boolean
  /** For a thread that does nothing else, and may wait for the disk. @internal */
  readonly mayBlock?: boolean
}

/**
 * Opens the store in a directory, which is made if need be; or one in PostgreSQL, with `postgres://…` or what else is known of the place; or one in
 * memory, with `memory:`; or one on an engine of your own.
 */
export async function openStore(where: string | PostgresPlace | Engine, options: OpenOptions = {}): Promise<Store> {
  const { space = 'default', clock = systemClock, ids = systemIds, limits = {}, wrap = (engine) => engine } = options
  checkId('The name of a space', space)
  const engine = wrap(isEngine(where) ? where : await pick(where, options))
  const replicas = new Replicas({ engine, clock, ids, limits: { ...LIMITS, ...limits } })
  // An engine of somebody's own, or one that has its directory for itself, cannot be opened once more by a thread.
  const threaded = typeof where === 'string' && options.exclusive !== true && options.brief !== true
  const catalog = new CatalogDoor({ engine, clock, ids, threaded })
  const { beforeAppend } = options
  const parts: StoreParts = { engine, clock, ids, replicas, catalog, space, ...(beforeAppend === undefined ? {} : { beforeAppend }) }
  if (options.redact !== true) return new Store(parts)
  return new Store({ ...parts, beforeAppend: both(beforeAppend, redactor(await fingerprintKey(parts))) })
}

function isEngine(where: string | PostgresPlace | Engine): where is Engine {
  return typeof where === 'object' && 'journal' in where
}

async function pick(where: string | PostgresPlace, options: OpenOptions): Promise<Engine> {
  const { exclusive = false, mayBlock = false, migrate, clock = systemClock, ids = systemIds, limits = {} } = options
  const { keysOf } = sessionModel
  if (typeof where !== 'string' || /^postgres(?:ql)?:\/\//i.test(where)) {
    const { openPostgresEngine } = await import('../engines/postgres/engine.ts')
    const place = typeof where === 'string' ? { url: where } : where
    return openPostgresEngine({ ...place, ...(migrate === undefined ? {} : { migrate }), keysOf })
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
