/** Text that is no JSON costs no more than a few looks at it. */
import { expect, test } from 'vitest'
import { DocumentSalvage, salvage } from './salvage.ts'

const MIB = 1024 * 1024
const isRecord = ({ role }: object & { role?: unknown }): boolean => typeof role === 'string'
const whole = '{"role":"user","content":"a"}'

test.each([
  ['brackets', ',{'],
  ['objects that never end', '{"a":'],
  ['quotes', '{"'],
  ['ends', '],"messages":1'],
])('%s', (_, piece) => {
  for (const begin of ['{"messages":[', '[', '']) {
    const text = `${begin}${piece.repeat((2 * MIB) / piece.length)}`
    // Without the limits, 64 KiB of them took 0.2 to 1.1 s, and twice as many four times as long.
    const started = process.cpuUsage()
    new DocumentSalvage(text, ['messages', 'history'], isRecord).read()
    salvage(text, isRecord)
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(2500)
  }
})

test('records between spoiled ones are found, and what is not looked at is reported', () => {
  const text = `{"messages":[${whole},{"role":,${whole},]},${whole}`
  const reader = new DocumentSalvage(text, ['messages'], isRecord)
  expect(reader.read()).toEqual({ messages: [JSON.parse(whole), JSON.parse(whole)] })
  const endless = `[${whole}${',{'.repeat(MIB)}`
  const other = new DocumentSalvage(endless, [], isRecord)
  expect(other.read()).toEqual([JSON.parse(whole)])
  expect(other.lost.at(-1)?.to).toBe(endless.length)
})
