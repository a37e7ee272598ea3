import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { CatalogAccess } from '../../src/catalog/catalog-access.ts'
import { EncryptedEngine } from '../../src/encryption/encrypted-engine.ts'
import { masterKeyOf } from '../../src/encryption/master-key.ts'
import { systemClock } from '../../src/engine/clock.ts'
import { conformance } from '../../src/engine/conformance/index.ts'
import { systemIds } from '../../src/engine/ids.ts'
import type { Engine } from '../../src/engine/port.ts'
import { openMemoryEngine } from '../../src/engines/memory/engine.ts'
import { Replicas } from '../../src/journal/replicas.ts'
import { LIMITS } from '../../src/record/limits.ts'
import { BatchedHints } from '../../src/server/batched-hints.ts'
import { MeteredEngine } from '../../src/server/metered-engine.ts'
import { Metrics } from '../../src/server/metrics.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { DataKeyStore } from '../../src/store/keys/data-key-store.ts'
import { finishErasures } from '../../src/store/lifecycle/erase.ts'

// An engine that encrypts for another engine is one itself: it passes on lines that are not encrypted.
conformance(test, {
  open: async (keysOf) => {
    const dataKeys = new DataKeyStore([masterKeyOf(Buffer.alloc(32, 1))])
    const engine = new EncryptedEngine(openMemoryEngine({ keysOf }), dataKeys, { indexed: true })
    const shared = { engine, clock: systemClock, ids: systemIds }
    const catalog = new CatalogAccess({ ...shared, threads: undefined })
    const replicas = new Replicas({ ...shared, reducer: sessionReducer, limits: LIMITS })
    dataKeys.attach({ ...shared, replicas, catalog, space: 'default', recover: finishErasures })
    return { engine }
  },
})

// What the server puts between a store and its engine is an engine as well.
conformance(test, {
  open: async (keysOf) => ({ engine: new MeteredEngine(new BatchedHints(openMemoryEngine({ keysOf })), new Metrics()) }),
})

/** The optional members of an interface of the engine port. */
function optionalMembers(port: string): string[] {
  const path = new URL('../../src/engine/port.ts', import.meta.url)
  const source = ts.createSourceFile('port.ts', readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true)
  const found = source.statements.find((one) => ts.isInterfaceDeclaration(one) && one.name.text === port) as ts.InterfaceDeclaration
  return found.members.filter(({ questionToken }) => questionToken !== undefined).map(({ name }) => (name as ts.Identifier).text)
}

const WRAPPERS: Readonly<Record<string, (inner: Engine) => Engine>> = {
  encrypts: (inner) => new EncryptedEngine(inner, new DataKeyStore([masterKeyOf(Buffer.alloc(32, 1))]), { indexed: true }),
  'is metered': (inner) => new MeteredEngine(inner, new Metrics()),
  'batches hints': (inner) => new BatchedHints(inner),
}

test.each(Object.entries(WRAPPERS))('an engine that %s passes on every optional member of the port', (_, wrap) => {
  const inner = openMemoryEngine({ keysOf: sessionReducer.keysOf })
  const member = (name: string): unknown => (name === 'directory' ? '/store' : () => undefined)
  const full = { ...inner, ...Object.fromEntries(optionalMembers('Engine').map((name) => [name, member(name)])) }
  const engine = wrap({ ...full, name: inner.name.bind(inner), journal: inner.journal.bind(inner) } as Engine)
  expect(optionalMembers('Engine')).toContain('lines')
  expect(optionalMembers('Engine').filter((name) => engine[name as keyof Engine] === undefined)).toEqual([])
  const bare = wrap({ ...inner, name: inner.name.bind(inner), journal: inner.journal.bind(inner) } as Engine)
  expect(optionalMembers('Engine').filter((name) => bare[name as keyof Engine] !== undefined)).toEqual([])
})

test('a journal that is encrypted or metered passes on every optional member of the port', () => {
  for (const wrap of [WRAPPERS.encrypts, WRAPPERS['is metered']]) {
    const engine = wrap?.(openMemoryEngine({ keysOf: sessionReducer.keysOf })) as Engine
    const journal = engine.journal(engine.name('default', 's'))
    expect(optionalMembers('Journal')).toContain('vanished')
    expect(optionalMembers('Journal').filter((name) => journal[name as keyof typeof journal] === undefined)).toEqual([])
  }
})
