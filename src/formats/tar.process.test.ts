import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Budget } from './budget.ts'
import { filesInTar, isTar, type TarFile, tarOf } from './tar.ts'

const FILES = [
  { path: 'messages.jsonl', bytes: Buffer.from('{"a":1}\n') },
  { path: `${'deep/'.repeat(40)}of a long name ünïcödé.json`, bytes: Buffer.alloc(1500, 'x') },
  { path: 'empty', bytes: Buffer.alloc(0) },
]

const filesIn = (archive: Buffer): TarFile[] => [...filesInTar(archive, new Budget())]

function directory(): string {
  const made = mkdtempSync(join(tmpdir(), 'holdfast-tar-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

test('what is put into an archive is read from it, and by the tar of this machine', () => {
  const archive = tarOf(FILES)
  expect(isTar(archive)).toBe(true)
  expect(filesIn(archive).map(({ path, bytes }) => [path, Buffer.from(bytes).toString()])).toEqual(
    FILES.map(({ path, bytes }) => [path, bytes.toString()]),
  )
  const place = directory()
  writeFileSync(join(place, 'a.tar'), archive)
  expect(spawnSync('tar', ['-xf', 'a.tar'], { cwd: place, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
  for (const { path, bytes } of FILES) expect(readFileSync(join(place, path))).toEqual(bytes)
})

test.each(['gnu', 'pax', 'ustar'])('what the tar of this machine writes as %s is read', (format) => {
  const place = directory()
  const path = format === 'ustar' ? 'history/archive_001/messages.jsonl' : (FILES[1]?.path as string)
  mkdirSync(join(place, 's', path, '..'), { recursive: true })
  writeFileSync(join(place, 's', path), 'content')
  expect(spawnSync('tar', [`--format=${format}`, '-cf', 'a.tar', '-C', 's', '.'], { cwd: place }).status).toBe(0)
  const files = filesIn(readFileSync(join(place, 'a.tar')))
  expect(files.map((file) => [file.path, Buffer.from(file.bytes).toString()])).toEqual([[path, 'content']])
})

test('one that is cut off anywhere gives what is there, and names lead nowhere else', () => {
  const archive = tarOf(FILES)
  for (let length = 0; length < archive.length; length += 100) expect(filesIn(archive.subarray(0, length)).length).toBeLessThan(4)
  expect(filesIn(tarOf([{ path: '/../../etc/x.json', bytes: Buffer.from('1') }]))[0]?.path).toBe('etc/x.json')
})
