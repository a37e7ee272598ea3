import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { LIMITS } from '../record/limits.ts'
import { type MessageLine, readMessages } from './message-lines.ts'

const never = new AbortController().signal

async function read(chunks: Iterable<Buffer>, signal: AbortSignal = never): Promise<MessageLine[]> {
  const lines: MessageLine[] = []
  for await (const line of readMessages(Readable.from(chunks, { objectMode: false }), 'user', signal)) lines.push(line)
  return lines
}

test('lines are whole wherever the bytes were cut, inside a character too', async () => {
  const bytes = Buffer.from('{"content":"漢字"}\n\n"é"\n"end"')
  const whole = await read([bytes])
  expect(whole).toMatchObject([
    { number: 1, message: { content: '漢字' } },
    { number: 3, message: { role: 'user', content: 'é' } },
    { number: 4, message: { role: 'user', content: 'end' } },
  ])
  const one = Array.from(bytes, (byte) => Buffer.from([byte]))
  expect(await read(one)).toEqual(whole)
})

test.each([
  ['"ok"\n"\xff"\n', 'Line 2 is not UTF-8'],
  ['"ok"\nnull\n', 'Line 2 must be a message object'],
  ['{"a":[9007199254740993]}\n', 'Line 1 has the integer 9007199254740993'],
  ['{"a":-9007199254740993}\n', 'Line 1 has the integer -9007199254740993'],
])('%j is refused: %s', async (text, complaint) => {
  await expect(read([Buffer.from(text, 'latin1')])).rejects.toThrow(complaint)
})

test.each(['{"a":"9007199254740993 \\" 9007199254740993"}', '{"a":9007199254740991}', '{"a":0.12345678901234567}', '{"a":1e300}'])(
  '%s keeps what it says',
  async (text) => {
    expect(await read([Buffer.from(text)])).toHaveLength(1)
  },
)

test('a line that is too long is refused before it is read to its end', async () => {
  let chunks = 0
  function* endless(): Generator<Buffer> {
    for (;;) {
      chunks++
      yield Buffer.alloc(1024 * 1024, 'x')
    }
  }
  await expect(read(endless())).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE', details: { line: 1 } })
  expect(chunks).toBeLessThan(LIMITS.recordBytes / (1024 * 1024) + 4)
})

test('ends without an error when the signal comes, with nothing of what was cut off', async () => {
  const stop = new AbortController()
  function* cut(): Generator<Buffer> {
    yield Buffer.from('"one"\n')
    stop.abort()
    yield Buffer.from('"two"\n"thr')
  }
  const lines = await read(cut(), stop.signal)
  expect(lines.map(({ number }) => number)).not.toContain(3)
})
