import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

test('the container is built from all that the build reads', () => {
  const [, sources = '', project = ''] = /dist: \{ sources: \[([^\]]*)\], project: '([^']*)'/.exec(read('scripts/build.mjs')) ?? []
  const needed = [...sources.matchAll(/'([^']+)'/g)].map(([, path]) => path)
  expect(needed).toContain('src')
  const copied = [...read('deploy/Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '))
  expect(copied).toEqual(expect.arrayContaining([...needed, 'scripts', 'package.json', 'package-lock.json', 'tsconfig.json', project]))
})

test('what is deployed serves with options that there are, and stops within the time it is given', () => {
  const unit = read('deploy/holdfast.service')
  const served = [
    /^ExecStart=.* serve (.*)$/m.exec(unit)?.[1],
    /^ENTRYPOINT \["holdfast", "serve", (.*)\]$/m.exec(read('deploy/Dockerfile'))?.[1],
  ]
  const options = served.flatMap((line) => [...(line ?? '').matchAll(/--[a-z-]+/g)].map(([option]) => option))
  expect(options).toEqual(['--store', '--host', '--port', '--store', '--host'])
  const known = read('src/cli/commands.ts')
  for (const option of options.filter((one) => one !== '--store')) expect(known).toContain(`${option} <`)
  const [, stopMs = ''] = /stopMs: (\d+)/.exec(read('src/server/limits.ts')) ?? []
  const [, seconds = ''] = /^TimeoutStopSec=(\d+)$/m.exec(unit) ?? []
  expect(Number(seconds) * 1000).toBeGreaterThan(Number(stopMs) + 2000)
})

test('the recipe for Kubernetes uses commands and options that there are, and gives a stop the time it takes', () => {
  const recipe = read('docs/cookbook.md')
  const commands = [...recipe.matchAll(/^ +command: \[holdfast, (.+)\]$/gm)].map(([, words = '']) => words.split(', '))
  expect(commands.map(([name]) => name)).toEqual(['migrate', 'serve', 'work'])
  const known = read('src/cli/commands.ts') + read('src/cli/command-spec.ts')
  for (const [name, ...words] of commands) {
    expect(known).toMatch(new RegExp(`name: '${name}`))
    for (const option of words.filter((word) => word.startsWith('--'))) expect(known).toMatch(new RegExp(`'(?:-\\w, )?${option}[ ']`))
  }
  const [, stopMs = ''] = /stopMs: (\d+)/.exec(read('src/server/limits.ts')) ?? []
  const [, seconds = ''] = /terminationGracePeriodSeconds: (\d+)/.exec(recipe) ?? []
  expect(Number(seconds) * 1000).toBeGreaterThan(Number(stopMs) + 2000)
})
