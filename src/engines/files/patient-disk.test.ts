import { beforeEach, describe, expect, test } from 'vitest'
import { diskWith } from '../../../test/damage/disk-with.ts'
import { patientDisk } from './patient-disk.ts'

let now: number
let slept: number[]
let relieved: number
/** The system refuses so many calls. */
let refusals: number
let code: string
let calls: number

beforeEach(() => {
  now = 0
  slept = []
  relieved = 0
  refusals = 0
  code = 'EMFILE'
  calls = 0
})

const clock = {
  monotonicMs: () => now,
  sleep: async (ms: number) => {
    slept.push(ms)
    now += ms
  },
}

async function refused<T>(result: T): Promise<T> {
  calls++
  if (refusals-- > 0) throw Object.assign(new Error(code), { code })
  return result
}

const disk = patientDisk(
  diskWith({
    list: () => refused(['a']),
    syncDirectory: () => refused(undefined),
    overwrite: () => refused(true),
    bootId: () => refused('boot'),
    fileSystem: () => refused(undefined),
    open: () => refused({ size: 1 } as never),
  }),
  clock,
  async () => {
    relieved++
  },
)

describe('a call that the system refuses for want of files', () => {
  test.each([
    ['open', () => disk.open('x', 'append')],
    ['list', () => disk.list('x')],
    ['syncDirectory', () => disk.syncDirectory('x')],
    ['overwrite', () => disk.overwrite('x', 0, Buffer.alloc(1), Buffer.alloc(1))],
    ['fileSystem', () => disk.fileSystem('x')],
    ['bootId', () => disk.bootId()],
  ])('is repeated at once after unused files were closed: %s', async (_, call) => {
    refusals = 1
    await call()
    expect({ calls, relieved, slept }).toEqual({ calls: 2, relieved: 1, slept: [] })
  })

  test.each(['EMFILE', 'ENFILE', 'ENOMEM'])('waits longer and longer until there are some (%s)', async (refusal) => {
    code = refusal
    refusals = 10
    expect(await disk.list('x')).toEqual(['a'])
    expect(slept).toEqual([2, 4, 8, 16, 32, 64, 100, 100, 100])
  })

  test('is answered with the refusal after two seconds, and the next call is tried again', async () => {
    refusals = 1000
    await expect(disk.list('x')).rejects.toMatchObject({ code: 'EMFILE' })
    expect(now).toBeGreaterThanOrEqual(2000)
    expect(now).toBeLessThan(2200)
    refusals = 0
    expect(await disk.list('x')).toEqual(['a'])
  })

  test('is not repeated for any other reason', async () => {
    code = 'EIO'
    refusals = 1
    await expect(disk.list('x')).rejects.toMatchObject({ code: 'EIO' })
    expect({ calls, relieved }).toEqual({ calls: 1, relieved: 0 })
  })
})
