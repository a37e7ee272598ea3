/**
 * The adapters' own scenarios against frameworks of other versions. The directory HOLDFAST_PEERS has these frameworks, and the packed Holdfast as its users
 * install it. What a test imports from `src/` comes from that package.
 */
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { defineConfig } from 'vitest/config'

const ROOT = join(import.meta.dirname, '..', '..')
const PEERS = process.env.HOLDFAST_PEERS
if (PEERS === undefined) throw new Error('Run `npm run test:peers`, which says where the frameworks are.')
const PACKAGE = join(PEERS, 'node_modules', 'holdfast', 'dist')
const FRAMEWORKS =
  /^(?:ai|zod|@openai\/agents-core|@anthropic-ai\/claude-agent-sdk|@langchain\/[\w-]+|@modelcontextprotocol\/[\w-]+)(?:\/|$)/

/** The scenarios of each framework. A set that lacks one does not run them. */
const SCENARIOS = {
  '@anthropic-ai/claude-agent-sdk': 'claude-agent.store',
  '@langchain/core': 'langchain.store',
  '@modelcontextprotocol/conformance': 'mcp-scenarios.process',
  '@modelcontextprotocol/sdk': 'mcp.store',
  '@openai/agents-core': 'openai-agents.store',
  ai: 'ai-sdk.store',
}

export default defineConfig({
  root: ROOT,
  plugins: [
    {
      name: 'peers',
      enforce: 'pre',
      resolveId(source, importer) {
        if (importer === undefined || !importer.startsWith(join(ROOT, 'test'))) return undefined
        if (FRAMEWORKS.test(source)) return this.resolve(source, join(PEERS, 'index.js'), { skipSelf: true })
        const path = source.startsWith('.') ? relative(join(ROOT, 'src'), join(importer, '..', source)) : '..'
        return path.startsWith('..') ? undefined : join(PACKAGE, path.replace(/\.ts$/, '.js'))
      },
    },
  ],
  test: {
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    restoreMocks: true,
    unstubEnvs: true,
    setupFiles: ['test/seed.ts'],
    include: Object.entries(SCENARIOS).flatMap(([framework, file]) =>
      existsSync(join(PEERS, 'node_modules', framework)) ? [`test/adapters/${file}.test.ts`] : [],
    ),
    testTimeout: 600_000,
    hookTimeout: 60_000,
  },
})
