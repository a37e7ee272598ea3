import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { ROOT } from '../tidy/sources.ts'

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, Record<string, unknown>>

test('frameworks are optional peers: a plain install gets none of them', () => {
  const peers = Object.keys(manifest.peerDependencies ?? {})
  expect(peers.length).toBeGreaterThan(0)
  for (const peer of peers) {
    expect(manifest.peerDependenciesMeta?.[peer], peer).toEqual({ optional: true })
    expect(manifest.dependencies, peer).not.toHaveProperty([peer])
  }
})

test('what is needed of the protocol’s package is inside: it asks for nothing that is not installed', () => {
  const code = readFileSync(join(ROOT, 'dist', 'adapters', 'mcp', 'sdk.js'), 'utf8')
  const asked = ts.preProcessFile(code, true, false).importedFiles.map(({ fileName }) => fileName)
  const outside = asked.filter((name) => !name.startsWith('node:') && !/^zod(?:\/|$)/.test(name))
  expect({ some: asked.length > 0, outside }).toEqual({ some: true, outside: [] })
})
