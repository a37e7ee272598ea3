/** One damaged store: made, closed, damaged, and opened again as another process would. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeApp } from '../../../src/server/app.ts'
import type { ServerParts } from '../../../src/server/parts.ts'
import { makeParts } from '../../../src/server/server.ts'
import { openStore } from '../../../src/store/open-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { damageFiles, type Fault } from './faults.ts'
import { type Named, OTHER, prepare, TALK } from './subject.ts'

export const ON_POSTGRES = process.env.HOLDFAST_TEST_STORE === 'postgres'

/** A store that nothing has open. */
export interface Damaged {
  readonly address: string
  readonly named: Named
  remove(): void
}

/** Watermarks trust no copy of their files, so every store is written where it is damaged. */
export async function makeDamaged(fault: Fault): Promise<Damaged> {
  const directory = ON_POSTGRES ? undefined : mkdtempSync(join(tmpdir(), 'holdfast-surfaces-'))
  const address = directory ?? (await (await import('../../postgres/database.ts')).newDatabase())
  const store = await openStore(address)
  const named = await prepare(store)
  const [talk, other] = [TALK, OTHER].map((id) => store.parts.engine.name(store.space, id)) as [string, string]
  await store.close()
  if (directory === undefined) await (await import('./postgres-faults.ts')).damageRows(address, fault.name, talk, other)
  else damageFiles(fault.name, join(directory, 'sessions', talk), join(directory, 'sessions', other))
  return {
    address,
    named: { ...named, mid: fault.message },
    remove: () => directory !== undefined && rmSync(directory, { recursive: true, force: true }),
  }
}

/** A damaged store that is open, with the application of a server on it. */
export class Opened {
  readonly store: Store
  readonly named: Named & { readonly kid: string }
  readonly key: string
  readonly #parts: ServerParts
  readonly #app: ReturnType<typeof makeApp>

  private constructor(store: Store, parts: ServerParts, named: Named & { readonly kid: string }, key: string) {
    this.store = store
    this.named = named
    this.key = key
    this.#parts = parts
    this.#app = makeApp(parts)
  }

  static async open({ address, named }: Damaged): Promise<Opened> {
    const store = await openStore(address)
    const parts = await makeParts(store, { worker: false })
    const { key } = await parts.keys.create({ space: 'default', scope: 'admin' })
    const { record } = await parts.keys.create({ space: 'default', scope: 'read' })
    return new Opened(store, parts, { ...named, kid: record.id }, key)
  }

  /** In place of a socket. */
  fetch = (url: string, init: RequestInit = {}): Promise<Response> => {
    const { pathname, search } = new URL(url)
    return Promise.resolve(
      this.#app.request(`${pathname}${search}`, {
        ...init,
        headers: { host: 'localhost', 'x-api-key': this.key, ...(init.headers as object) },
      }),
    )
  }

  async close(): Promise<void> {
    this.#parts.keys.close()
    await this.#parts.followers.close()
    await this.#parts.audit.flush()
    await this.store.close()
  }
}
