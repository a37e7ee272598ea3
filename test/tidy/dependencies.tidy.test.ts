import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { ROOT } from './sources.ts'

interface Scripts {
  readonly plainInstall: (root: string) => { readonly name: string; readonly hasInstallScript: boolean }[]
  readonly sbomOf: (root: string) => { readonly bomFormat: string; readonly components: { readonly name: string }[] }
}

/** Scripts have no types. */
function script(name: string): Promise<Scripts> {
  return import(pathToFileURL(join(ROOT, 'scripts', name)).href) as Promise<Scripts>
}

const { dependencies, scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, Record<string, string>>

test('nothing that a plain install brings runs a script when it is installed', async () => {
  const installed = (await script('plain-install.mjs')).plainInstall(ROOT)
  expect(installed.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(dependencies ?? {})))
  expect(installed.filter(({ hasInstallScript }) => hasInstallScript)).toEqual([])
  expect(Object.keys(scripts ?? {}).filter((name) => /^(?:pre|post)?install$|^prepare$/.test(name))).toEqual([])
})

test('a release can tell what it brings, from the lock file alone', async () => {
  const { bomFormat, components } = (await script('sbom.mjs')).sbomOf(ROOT)
  expect(bomFormat).toBe('CycloneDX')
  const names = components.map(({ name }) => name)
  expect(names).toEqual(
    expect.arrayContaining(Object.keys(dependencies ?? {}).map((name) => expect.stringContaining(name.replace(/^@[^/]*\//, '')))),
  )
  expect(names).not.toContain('vitest')
})
