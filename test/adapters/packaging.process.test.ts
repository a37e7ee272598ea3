import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { ROOT } from '../tidy/sources.ts'

const ADAPTERS = join(ROOT, 'dist', 'adapters')
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

test('an adapter asks for its framework, for what a plain install brings, and for nothing else', () => {
  const given = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
  const files = readdirSync(ADAPTERS, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'))
  const asked = files.flatMap((name) => {
    const code = readFileSync(join(ADAPTERS, name), 'utf8')
    return ts.preProcessFile(code, true, false).importedFiles.map(({ fileName }) => ({ name, package: fileName }))
  })
  const outside = asked.filter(
    ({ package: from }) => !/^(?:node:|\.)/.test(from) && !given.some((one) => from === one || from.startsWith(`${one}/`)),
  )
  expect({ files: files.length > 20, outside }).toEqual({ files: true, outside: [] })
})

test('docs/adapters.md names the versions of frameworks that the tests run with', () => {
  const page = readFileSync(join(ROOT, 'docs', 'adapters.md'), 'utf8')
  const versions = manifest.devDependencies as Record<string, string>
  const named = [...page.matchAll(/(?<=[\s|])((?:@[\w-]+\/)?[a-z][\w-]*) (\d+\.\d+\.\d+)(?=[\s,;|])/g)].map(([, name = '', version]) => [
    name,
    version,
  ])
  expect(Object.fromEntries(named)).toEqual(Object.fromEntries(named.map(([name = '']) => [name, versions[name]])))
  expect(named.map(([name]) => name)).toEqual(expect.arrayContaining(Object.keys(manifest.peerDependencies ?? {})))
})
