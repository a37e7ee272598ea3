import { expect, test } from 'vitest'
import { cut, inBlock, inLine, jsonLine, relativeTime, table, widthOf } from './terminal.ts'

test.each([
  ['plain', 'plain'],
  ['\x1b[31mred', '\\x1b[31mred'],
  ['\x9b\x7f\x00', '\\x9b\\x7f\\x00'],
  ['a\u202eb\u2066c\u200fd\u061ce', 'a\\u202eb\\u2066c\\u200fd\\u061ce'],
  ['one\ntwo\ttab\r', 'one\\ntwo\\ttab\\r'],
  ['\ufeff\u200b\u2028', '\\ufeff\\u200b\\u2028'],
  ['\u{e0041}\ud800', '\\u{e0041}\\ud800'],
  ['👩\u200d👩 é 漢 عربي', '👩\u200d👩 é 漢 عربي'],
])('in a line %j is shown as %j', (text, shown) => {
  expect(inLine(text)).toBe(shown)
})

test('in a block line breaks and tabs stay, and nothing else that acts', () => {
  expect(inBlock('a\r\nb\n\tc\rd\x1b[2J')).toBe('a\nb\n\tc\\rd\\x1b[2J')
})

test('a line of JSON has no character that acts, and reads back as what it was', () => {
  const value = { 'k\x9b': 'a\x1b\x7f\x85\u202e\u2028\u{e0041}\n漢' }
  const line = jsonLine(value)
  expect(line).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}]*$/u)
  expect(JSON.parse(line)).toEqual(value)
})

test.each([
  ['abc', 3],
  ['漢字', 4],
  ['e\u0301', 1],
  ['👩\u200d👩\u200d👧', 2],
  ['🇩🇪', 2],
  ['❤\ufe0f', 2],
  ['ｆｕｌｌ', 8],
  ['', 0],
])('%j takes %i cells', (text, cells) => {
  expect(widthOf(text)).toBe(cells)
})

test.each([
  ['abcdef', 6, 'abcdef'],
  ['abcdef', 4, 'abc…'],
  ['漢字漢字', 6, '漢字…'],
  ['漢字漢字', 4, '漢…'],
  ['e\u0301e\u0301e\u0301', 2, 'e\u0301…'],
  ['abc', 0, ''],
])('%j cut to %i cells is %j', (text, width, shown) => {
  expect(cut(text, width)).toBe(shown)
})

test('a table aligns its columns, leaves out empty ones and cuts those that may shrink', () => {
  const columns = [{ title: 'ID' }, { title: 'TITLE', shrinks: true }, { title: 'N', align: 'right' as const }, { title: 'EMPTY' }]
  const rows = [
    ['a', '漢字', '1', ''],
    ['bcd', 'a long title, too long', '123', ''],
  ]
  expect(table(columns, rows, 100, String)).toEqual([
    'ID   TITLE                     N',
    'a    漢字                      1',
    'bcd  a long title, too long  123',
  ])
  const narrow = table(columns, rows, 20, String)
  expect(narrow).toEqual(['ID   TITLE         N', 'a    漢字          1', 'bcd  a long ti…  123'])
  expect(narrow.map(widthOf)).toEqual([20, 20, 20])
})

test.each([
  [0, 'now'],
  [45_000, '45 s ago'],
  [200_000, '3 min ago'],
  [7_200_000, '2 h ago'],
  [3 * 86_400_000, '3 d ago'],
  [31 * 86_400_000, '2026-01-01'],
  [-6.9999 * 86_400_000, 'in 7 d'],
])('%i ms ago is told as %j', (ago, told) => {
  const at = Date.parse('2026-01-01T12:00:00.000Z')
  expect(relativeTime('2026-01-01T12:00:00.000Z', at + ago)).toBe(told)
})
