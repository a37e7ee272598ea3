import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The kinds of tests that need more than the sources; CONTRIBUTING.md says what each needs. A name without a kind is a fast test. */
const OF_ONE_PROCESS = 'store,property,tidy'
const OF_SEVERAL = 'process,postgres,browser,simulation'
/** What knows nothing of how a line looks inside. */
const ENCRYPTED = [
  'src/store/{fork,list}.test.ts',
  'src/store/lifecycle/incarnations.test.ts',
  'src/store/messages/{chain,replace-tail}.test.ts',
  'test/commit/commit.store.test.ts',
  'test/erase/{erase,http}.store.test.ts',
  'test/failures/import.process.test.ts',
  'test/failures/{anchors,commits,deletion,forks,retries}.store.test.ts',
  'test/model/sessions.store.test.ts',
  'test/redaction/store.store.test.ts',
  'test/server/{api-keys,commits,errors,events,messages,sessions,shares,spaces,transfer}.store.test.ts',
  'test/store/{follow,order}.store.test.ts',
  'test/store/{expire,search}.test.ts',
  'test/transfer/export.store.test.ts',
  'test/transfer/import.test.ts',
  'test/window/session.test.ts',
]
/** What says nothing of the engine. */
const POSTGRES = [
  'src/store/list.test.ts',
  'src/store/lifecycle/incarnations.test.ts',
  'src/store/messages/replace-tail.test.ts',
  'test/adapters/{ai-sdk,claude-agent,langchain,langgraph,langgraph-conformance,mcp,openai-agents}.store.test.ts',
  'test/commit/{commit,worker}.store.test.ts',
  'test/commit/once/once.store.test.ts',
  'test/damage/surfaces.process.test.ts',
  'test/erase/erase.store.test.ts',
  'test/model/sessions.store.test.ts',
  'test/server/{black-box,two-servers}.process.test.ts',
  'test/server/{api-keys,commits,errors,events,messages,quotas,sessions,shares,spaces,transfer}.store.test.ts',
  'test/slow/adapters/{killed,runners}.process.test.ts',
  'test/store/{follow,order,quotas}.store.test.ts',
  'test/store/{expire,search}.test.ts',
  'test/transfer/export.store.test.ts',
  'test/transfer/import.test.ts',
  'test/window/session.test.ts',
]
/** Longest first, so that no worker begins a file of minutes when the others have nothing left: simulations, then what starts processes. */
const ORDER = [/\.simulation\.test/, /\/test\/slow\//, /\.(?:process|postgres|browser)\.test/, /./]
/** One project after the other: a worker goes on with the modules that it has loaded only if the next file in turn is of the same project. */
const PROJECTS = ['slow', 'postgres', 'store', 'encrypted', 'fast']

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number =>
      PROJECTS.indexOf(project.name) * ORDER.length + ORDER.findIndex((kind) => kind.test(moduleId))
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

const shared = { pool: 'forks', environment: 'node', restoreMocks: true, unstubEnvs: true } as const
/** Modules are loaded once for all files of a worker: loading them again for each file would take most of the time. */
const together = { isolate: false, setupFiles: ['test/seed.ts'] } as const

export default defineConfig({
  test: {
    // Belongs to the root alone: a project that inherited it would run it again.
    globalSetup: ['test/global-setup.ts'],
    // Two more than the cores of a small machine: many tests wait for disks, processes and browsers.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        // What the page imports is the client, from its source.
        resolve: { alias: { 'holdfast/client': fileURLToPath(new URL('src/client/index.ts', import.meta.url)) } },
        test: {
          ...shared,
          ...together,
          name: 'fast',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['**/*.*.test.ts'],
          testTimeout: 240_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          ...shared,
          ...together,
          name: 'store',
          include: [`{src,test}/**/*.{${OF_ONE_PROCESS}}.test.ts`],
          testTimeout: 600_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          ...shared,
          ...together,
          name: 'slow',
          include: [`{src,test}/**/*.{${OF_SEVERAL}}.test.ts`],
          testTimeout: 600_000,
          hookTimeout: 60_000,
        },
      },
      {
        // The suites of the store, each with every store encrypted.
        test: {
          ...shared,
          ...together,
          name: 'encrypted',
          include: ENCRYPTED,
          env: { HOLDFAST_TEST_ENCRYPTED: '1' },
          setupFiles: ['test/seed.ts', 'test/encryption/every-store.ts'],
          testTimeout: 600_000,
          hookTimeout: 60_000,
        },
      },
      {
        // The suites that say nothing of the engine, on PostgreSQL.
        test: {
          ...shared,
          ...together,
          name: 'postgres',
          include: POSTGRES,
          env: { HOLDFAST_TEST_STORE: 'postgres' },
          setupFiles: ['test/seed.ts', 'test/postgres/database.ts', 'test/postgres/every-store.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
