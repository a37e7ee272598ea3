import { defineConfig } from 'vitest/config'

/** What starts processes, servers and threads, or goes through every bit of something: the rest answers within a minute. */
const SLOW = [
  'test/{slow,cli,examples,damage,catalog,failures,sabotage,erase,adapters}/**/*.test.ts',
  'test/{server,model,simulation}/**/*.test.ts',
  'src/engines/files/engine.test.ts',
  'src/commit/models/extractive.property.test.ts',
  'test/commit/{processes,once/once}.test.ts',
  'test/window/window.property.test.ts',
]
/** What knows nothing of how a line looks inside. */
const ENCRYPTED = [
  'src/store/{chain,exchange,fork,incarnations,list}.test.ts',
  'test/erase/{erase,http}.test.ts',
  'test/store/{expire,follow,search}.test.ts',
  'test/{commit/commit,model/sessions,redaction/store,transfer/export,transfer/import,window/session}.test.ts',
  'test/failures/{anchors,commits,deletion,forks,import,retries}.test.ts',
  'test/server/{commits,errors,events,keys,messages,sessions,shares,spaces,transfer}.test.ts',
]
/** What says nothing of the engine. */
const POSTGRES = [
  'test/adapters/{ai-sdk,claude-agent,langchain,langgraph,langgraph-conformance,mcp,openai-agents}.test.ts',
  'test/slow/adapters/{killed,runners}.test.ts',
  'src/store/{exchange,incarnations,list}.test.ts',
  'test/commit/{commit,worker,once/once}.test.ts',
  'test/damage/surfaces.test.ts',
  'test/erase/erase.test.ts',
  'test/model/sessions.test.ts',
  'test/server/{black-box,commits,errors,events,keys,messages,quotas,sessions,shares,spaces,transfer,two-servers}.test.ts',
  'test/store/{expire,follow,quotas,search}.test.ts',
  'test/transfer/{export,import}.test.ts',
  'test/window/session.test.ts',
]
const shared = { pool: 'forks', environment: 'node', restoreMocks: true, unstubEnvs: true } as const

export default defineConfig({
  test: {
    // Belongs to the root alone: a project that inherited it would run it again.
    globalSetup: ['test/global-setup.ts'],
    // One more than the cores of a small machine: many tests wait for disks, processes and browsers.
    maxWorkers: 3,
    projects: [
      {
        test: {
          ...shared,
          name: 'fast',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: SLOW,
          testTimeout: 240_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'slow',
          include: SLOW,
          testTimeout: 600_000,
          hookTimeout: 60_000,
        },
      },
      {
        // The suites of the store, each with every store encrypted.
        test: {
          ...shared,
          name: 'encrypted',
          include: ENCRYPTED,
          env: { HOLDFAST_TEST_ENCRYPTED: '1' },
          setupFiles: ['test/encryption/every-store.ts'],
          testTimeout: 600_000,
          hookTimeout: 60_000,
        },
      },
      {
        // The suites that say nothing of the engine, on PostgreSQL.
        test: {
          ...shared,
          name: 'postgres',
          include: POSTGRES,
          env: { HOLDFAST_TEST_STORE: 'postgres' },
          setupFiles: ['test/postgres/database.ts', 'test/postgres/every-store.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
