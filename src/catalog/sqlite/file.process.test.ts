import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemIds } from '../../engine/ids.ts'
import { HoldfastError } from '../../errors.ts'

/** Is told of each call that touches a file, and holds it up. */
const disk = vi.hoisted(() => ({ before: async (_call: string, _path: string): Promise<void> => undefined }))

vi.mock('node:fs/promises', async (importOriginal) => {
  const calls = Object.entries(await importOriginal<Record<string, (...words: string[]) => unknown>>())
  const heldUp = calls.map(([name, call]) => [
    name,
    async (...words: string[]) => {
      await disk.before(name, words.join(' '))
      return call(...words)
    },
  ])
  return Object.fromEntries(heldUp)
})

function signal(): { readonly given: Promise<void>; give(): void } {
  let give = (): void => undefined
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give }
}

test('of two that meet the turn of a dead process, the slower one does not take away the turn that the other has taken since', async () => {
  // Another test of this process may have loaded it, with the disk as it is.
  vi.resetModules()
  onTestFinished(() => void vi.resetModules())
  const { newFile } = await import('./file.ts')
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const { pid } = spawnSync(process.execPath, ['-e', ''])
  mkdirSync(join(directory, 'catalog.db.turn'))
  writeFileSync(join(directory, 'catalog.db.turn', `${pid}.abcdef`), '')

  const [inside, looked] = [signal(), signal()]
  const steps: string[] = []
  let quick: Promise<string> | undefined
  disk.before = async (call, path) => {
    if (quick === undefined && call === 'rm' && path.includes('.turn')) {
      quick = newFile(directory, systemIds)
      // The slower one has seen that the turn is over, and is about to remove it.
      await inside.given
      steps.push('removes')
    } else if (call === 'symlink') {
      if (steps.includes('in turn')) looked.give()
      steps.push('in turn')
      inside.give()
      await looked.given
      steps.push('done')
    } else if (steps.includes('removes') && path.includes('.turn')) {
      steps.push('looks')
      if (steps.filter((step) => step === 'looks').length === 5) looked.give()
    }
  }
  const slow = await newFile(directory, systemIds)
  expect(steps.filter((step) => step !== 'looks' && step !== 'removes')).toEqual(['in turn', 'done', 'in turn', 'done'])
  expect(await quick).not.toBe(slow)
  expect(readdirSync(directory).toSorted()).toEqual(['catalog.db', slow.slice(directory.length + 1)])
})

test('a new catalog leaves nothing in an empty directory that takes the place of the store, whichever call it comes before', async () => {
  vi.resetModules()
  onTestFinished(() => void vi.resetModules())
  const { newFile } = await import('./file.ts')
  let refusals = 0
  for (let moved = 1, isMoved = true; isMoved; moved++) {
    const parent = mkdtempSync(join(tmpdir(), 'holdfast-'))
    onTestFinished(() => rmSync(parent, { recursive: true }))
    const directory = join(parent, 'store')
    mkdirSync(directory)
    writeFileSync(join(directory, 'holdfast.json'), '')
    isMoved = false
    let calls = 0
    disk.before = async () => {
      if (++calls !== moved) return
      isMoved = true
      renameSync(directory, join(parent, 'aside'))
      mkdirSync(directory)
    }
    const confirm = async (): Promise<void> => {
      if (!existsSync(join(directory, 'holdfast.json'))) throw new HoldfastError('UNAVAILABLE', 'moved')
    }
    const refused = await newFile(directory, systemIds, confirm).then(
      () => false,
      () => true,
    )
    if (refused) refusals++
    if (isMoved) expect(readdirSync(directory), `moved before call ${moved}`).toEqual([])
  }
  expect(refusals).toBeGreaterThan(5)
})
