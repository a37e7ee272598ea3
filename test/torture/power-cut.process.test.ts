/** What a power cut takes away, and what it must leave: the library that writes down syncs and the driver that believes it, together. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { requirePlatform } from '../platform.ts'
import { Random } from '../simulation/random.ts'
import { buildLibrary, FaultPage } from './faults.ts'
import { cutPower } from './power-cut.ts'

const compiler = requirePlatform('compiler')

/** Syncs a part of each file that it writes, and some of its names. */
const PROGRAM = `
  const fs = require('node:fs')
  const [directory] = process.argv.slice(1)
  const write = (name) => {
    const fd = fs.openSync(directory + '/' + name, 'a')
    fs.writeSync(fd, 'safe ')
    fs.fdatasyncSync(fd)
    fs.writeSync(fd, 'unsafe')
  }
  write('named')
  fs.fsyncSync(fs.openSync(directory, 'r'))
  write('unnamed')
`

// A watermark that a power cut takes while its record stays is a loss that Holdfast cannot notice, so the cut must be able to do that.
test.skipIf(!compiler.available).each(['sessions', 'watermarks'])(
  'a power cut keeps what was synced and may take the rest: %s',
  (folder) => {
    const home = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-power-')))
    onTestFinished(() => rmSync(home, { recursive: true }))
    const [store, copy, syncs] = [join(home, 'store'), join(home, 'copy'), join(home, 'syncs')]
    mkdirSync(join(store, folder), { recursive: true })
    const { library = '' } = buildLibrary(home)
    const page = new FaultPage({ path: join(home, 'page'), library, store, syncs })
    onTestFinished(() => page.close())
    const { status, stderr } = spawnSync(process.execPath, ['-e', PROGRAM, join(store, folder)], {
      env: { ...process.env, ...page.env },
      encoding: 'utf8',
    })
    expect(status, stderr).toBe(0)
    cpSync(store, copy, { recursive: true })

    const left = { named: new Set<string>(), unnamed: new Set<string | null>() }
    const [named, unnamed] = [join(store, folder, 'named'), join(store, folder, 'unnamed')]
    for (let seed = 0; seed < 40; seed++) {
      cutPower({ store, syncs, random: new Random(seed) })
      left.named.add(readFileSync(named, 'utf8'))
      left.unnamed.add(existsSync(unnamed) ? readFileSync(unnamed, 'utf8') : null)
      // In place: the same files with the same beginning.
      for (const name of ['named', 'unnamed']) writeFileSync(join(store, folder, name), readFileSync(join(copy, folder, name)))
    }
    for (const text of left.named) expect(text).toMatch(/^safe (?:u(?:n(?:s(?:a(?:fe?)?)?)?)?)?\0*$/)
    expect(left.named).toContain('safe ')
    expect(left.unnamed).toContain(null)
  },
)
