import { describe, expect, test } from 'vitest'
import { firstOf, idFile, segmentFile } from './names.ts'

describe('the name of a file', () => {
  test('says the first position that it holds, and sorts by it', () => {
    const firsts = [0, 1, 9, 10, 262_144, 2 ** 31, 2 ** 32 + 1, 2 ** 48 - 1]
    for (const first of firsts) {
      expect(firstOf(segmentFile(first), 'jsonl')).toBe(first)
      expect(firstOf(idFile(first), 'ids')).toBe(first)
      expect(firstOf(segmentFile(first), 'ids')).toBeUndefined()
      expect(firstOf(idFile(first), 'jsonl')).toBeUndefined()
    }
    expect(firsts.map(segmentFile).sort()).toEqual(firsts.map(segmentFile))
    expect(segmentFile(262_144)).toBe('0000000000262144.jsonl')
  })

  test.each([
    '',
    '.jsonl',
    '0.jsonl',
    '000000000000000.jsonl',
    '00000000000000000.jsonl',
    '0000000000000000.jsonl~',
    '0000000000000000.jsonl.tmp',
    '0000000000000000.JSONL',
    '000000000000000x.jsonl',
    'holdfast.json',
    '0000000000000000.jsonl\n',
  ])('%j is none of ours', (file) => {
    expect(firstOf(file, 'jsonl')).toBeUndefined()
    expect(firstOf(file, 'ids')).toBeUndefined()
  })
})
