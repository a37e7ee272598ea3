import { describe, expect, test } from 'vitest'
import { descriptorsOfProcess, limitIn, shareDescriptors } from './descriptors.ts'

const most = 1024

describe('the descriptors of a process', () => {
  test('are shared by files and connections, and no more than the process may have are given away', () => {
    for (let limit = 64; limit < 3000; limit++) {
      const { files, catalogFiles, readerFiles, connections } = shareDescriptors({ limit, used: 21, most })
      expect(Math.min(files, connections as number)).toBeGreaterThanOrEqual(8)
      expect(21 + files + catalogFiles + 2 * readerFiles + (connections as number)).toBeLessThan(limit - 10)
    }
  })

  test('suffice for 17 clients and their requests where the limit is 64, without a thread for the catalog', () => {
    expect(shareDescriptors({ limit: 64, used: 21, most })).toEqual({ files: 8, catalogFiles: 0, readerFiles: 0, connections: 21 })
  })

  test('are not all used where there are many: files get what was asked for, connections the rest', () => {
    const { files, catalogFiles, readerFiles, connections = 0 } = shareDescriptors({ limit: 1_000_000, used: 21, most })
    expect(files + catalogFiles + 2 * readerFiles).toBeGreaterThan(900)
    expect(files + catalogFiles + 2 * readerFiles).toBeLessThan(most - 90)
    expect(connections).toBeGreaterThan(990_000)
  })

  test('that are wanted may be fewer than there are', () => {
    expect(shareDescriptors({ limit: 20_000, used: 21, most: 100 })).toMatchObject({ files: 62, catalogFiles: 0, readerFiles: 0 })
  })

  test('that others hold are not shared, and even then each part gets a few', () => {
    const { files, catalogFiles, connections } = shareDescriptors({ limit: 1024, used: 1020, most })
    expect({ files, catalogFiles, connections }).toEqual({ files: 8, catalogFiles: 0, connections: 4 })
  })

  test('limit no connections where the limit is unknown', () => {
    expect(shareDescriptors({ limit: undefined, used: 0, most }).connections).toBeUndefined()
  })

  test('are read where the system tells them', () => {
    expect(limitIn('Limit   Soft Limit   Hard Limit   Units\nMax open files            64                   4096        files\n')).toBe(64)
    expect(limitIn('Max open files            unlimited            unlimited            files\n')).toBeUndefined()
    expect(limitIn('')).toBeUndefined()
    const { limit, used } = descriptorsOfProcess()
    if (process.platform === 'linux') expect(used).toBeGreaterThan(0)
    if (limit !== undefined) expect(limit).toBeGreaterThan(used)
  })
})
