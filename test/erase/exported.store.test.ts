import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../src/store/open-store.ts'
import { exportFrom } from '../../src/transfer/export/export.ts'
import { useDirectory } from '../store/directory.ts'

const directory = useDirectory()
const SECRET = 'lives in Xanadu-4711'
const COUNT = 40

/** What an export says of each message, by its id. */
function contentsIn(text: string): Map<string, unknown> {
  const lines = text.split('\n').filter((line) => line !== '')
  const items = lines.map((line) => JSON.parse(line) as { kind: string; id: string; message: { content: unknown } })
  return new Map(items.filter(({ kind }) => kind === 'message').map(({ id, message }) => [id, message.content]))
}

test.each([0, 1, 2, 5, 20])(
  'a message that is erased when an export has written %i pieces is in it whole or as its marker, beside all others, and in no later one',
  async (pieces) => {
    const path = join(directory().path, String(pieces))
    const [store, other] = [await openStore(path, { limits: { segmentBytes: 3000 } }), await openStore(path)]
    const session = store.session('s')
    const content = (n: number): string => (n === 20 ? SECRET : `message ${n} ${'x'.repeat(300)}`)
    for (let n = 0; n < COUNT; n++) await session.append({ id: `m${n}`, role: 'user', content: content(n) })
    await session.commit({ keep: 5 })
    const whole: string[] = []
    let erasing: Promise<unknown> | undefined
    const begin = (): void => {
      if (whole.length >= pieces) erasing ??= other.session('s').erase('m20')
    }
    begin()
    for await (const piece of exportFrom(store, { session: 's' })) {
      whole.push(piece)
      begin()
    }
    // An export of fewer pieces has ended before.
    await (erasing ?? session.erase('m20'))
    const said = contentsIn(whole.join(''))
    expect([...said.keys()].sort()).toEqual(Array.from({ length: COUNT }, (_, n) => `m${n}`).sort())
    for (const [id, text] of said) {
      if (id === 'm20') expect([SECRET, '[erased]']).toContain(text)
      else expect(text).toBe(content(Number(id.slice(1))))
    }
    for (const one of [store, other]) {
      let after = ''
      for await (const piece of exportFrom(one, { session: 's' })) after += piece
      expect(contentsIn(after).get('m20')).toBe('[erased]')
      expect(after).not.toContain('Xanadu')
    }
    await Promise.all([store.close(), other.close()])
  },
)
