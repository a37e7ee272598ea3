import { appendFile, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { diskWith } from '../../../test/damage/disk-with.ts'
import { isPlace } from './attempt.ts'
import { Directories } from './directories.ts'
import { nodeDisk } from './node-disk.ts'
import { OpenSegments } from './open-segments.ts'
import { readLines } from './read-lines.ts'
import type { Segment } from './segment.ts'

let directory: string
let path: string
let beforeRead: () => Promise<void>
let segments: OpenSegments

const disk = diskWith({ open: nodeDisk.open }, (_, file) => ({
  read: async (offset, length) => {
    await beforeRead()
    return file.read(offset, length)
  },
}))

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-'))
  path = join(directory, '0000000000000000.jsonl')
  beforeRead = async () => undefined
  segments = new OpenSegments(disk, new Directories(disk, directory), 3)
  await writeFile(path, 'one\ntwo\n')
})
afterEach(async () => {
  await segments.close()
  await rm(directory, { recursive: true })
})

async function withSegment(work: (open: Segment) => Promise<void>): Promise<void> {
  const open = await segments.hold(directory, 0, false)
  if (open === undefined) throw new Error('The file is not there.')
  await work(open).finally(() => open.release())
}

test('a file that is cut after its end was looked at gives no lines', () =>
  withSegment(async (open) => {
    expect(await readLines(open, 4, 100, 0)).toMatchObject({ next: 8, end: 8 })
    await appendFile(path, 'three\n')
    beforeRead = () => truncate(path, 8)
    expect(await readLines(open, 8, 100, 0)).toBeUndefined()
  }))

test('nothing is placed at the end of a file that this process knows to have been longer', () =>
  withSegment(async (open) => {
    expect(isPlace(open, 8)).toBe(true)
    expect(open.noteEnd(4, Buffer.from('two\n'))).toBe(true)
    await truncate(path, 4)
    expect(isPlace(open, 4)).toBe(false)
  }))
