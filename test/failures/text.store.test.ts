import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { useDirectory } from './directory.ts'
import { inspect, write } from './journal.ts'

const place = useDirectory()

const HARD = [
  'lines \u2028 and paragraphs \u2029 and \u0085 that some programs split at',
  'NUL \0 inside',
  'every control character: \x01\x02\x07\b\t\n\v\f\r\x1b[31m\x7f\u009b',
  'a byte order mark \ufeff, and one in front',
  '\ufeffin front',
  'emoji 🦀 and families 👩‍👩‍👧‍👦, flags 🏴󠁧󠁢󠁳󠁣󠁴󠁿, right to left \u202eabc',
  'the same letter twice: \u00e9 e\u0301',
  'a line inside a line: {"v":1,"crc":"00000000"}\n{"v":1}',
  '\\ud800 with a backslash that is text',
]

test('F7 hard text: comes back as it was given, in this process and in the next', async () => {
  const { engine, replica } = await place().open()
  for (const note of HARD) expect(await replica.submit(write(note))).toBe('written')
  for (const note of HARD) expect(await replica.submit(write(note))).toBe('known')
  expect((await replica.read()).state).toEqual(HARD)
  await engine.close()
  const { journal, replica: next } = await place().open()
  expect((await next.read()).state).toEqual(HARD)
  expect(await inspect(journal)).toEqual({ notes: HARD, damage: [], seals: [] })
  // One line for each, and all of it UTF-8.
  const [bytes] = [...(await place().segments()).values()] as [Buffer]
  expect(bytes.toString('latin1').match(/\n\{"v":2/g)).toHaveLength(HARD.length)
  expect(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes)).not.toThrow()
})

test('F7 hard text: half a character becomes a replacement on the way in, so that no reader can choke on it', async () => {
  const { engine, replica } = await place().open()
  await replica.submit(write('half \ud83d and other half \ude00'))
  await replica.submit(write('whole'))
  await engine.close()
  const { journal } = await place().open()
  expect((await inspect(journal)).notes).toEqual(['half \ufffd and other half \ufffd', 'whole'])
  const [bytes] = [...(await place().segments()).values()] as [Buffer]
  expect(bytes.toString()).not.toMatch(/\\ud[89a-f]/i)
})

test.each([
  ['a byte that no UTF-8 has', [0xff]],
  ['half a sequence', [0xc3]],
  ['a surrogate in UTF-8', [0xed, 0xa0, 0x80]],
  ['NUL', [0]],
  ['a carriage return', [0x0d]],
  ['a separator that is no newline', [0xe2, 0x80, 0xa8]],
  ['a newline', [0x0a]],
])('F7 invalid bytes: %s in the middle of a line costs that record and no other', async (_, wrong) => {
  const { engine, replica } = await place().open()
  for (const note of ['before', 'the one that is hit', 'after']) await replica.submit(write(note))
  await engine.close()
  const [[name, bytes]] = [...(await place().segments())] as [[string, Buffer]]
  Buffer.from(wrong).copy(bytes, bytes.indexOf('one that is hit'))
  await writeFile(join(place().directory, name), bytes)
  const { journal, replica: next } = await place().open()
  expect((await next.read()).state).toEqual(['before', 'after'])
  expect((await inspect(journal)).damage.length).toBeGreaterThan(0)
})
