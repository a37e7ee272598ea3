import { expect, test } from 'vitest'
import { redactor } from '../../src/message/redact.ts'
import { FORMS } from '../../src/message/secrets.ts'
import { randomFrom, SECRETS } from '../redaction/corpus.ts'
import { allTooSlow, tooSlow } from './entry-points.ts'
import { FAMILIES, repeated } from './texts.ts'

const redact = redactor('a key')
const LENGTHS = [15_000]

const onText = (name: string) => ({ name, lengths: LENGTHS, prepare: (text: string) => () => redact(text) })

test('the redactor takes time in proportion to any text', async () => {
  expect(await tooSlow(onText('the redactor'))).toEqual([])
})

test.each(FORMS.map(({ what, anchors }) => [what, anchors] as const))(
  'the form "%s" takes time in proportion to its text',
  async (what, anchors) => {
    const pieces = anchors.flatMap((anchor) => [anchor, `-${anchor}`, `${anchor}A1b`, `${anchor}\n`])
    const families = [
      ...pieces.map((piece) => repeated(JSON.stringify(piece), piece)),
      ...FAMILIES.map(({ name, text }) => ({
        name: `${name} after ${anchors[0]}`,
        text: (length: number) => `${anchors[0]}${text(length)}`.slice(0, length),
      })),
    ]
    expect(await tooSlow({ ...onText(what), families })).toEqual([])
  },
)

test.each(Object.entries(SECRETS))('secrets of the kind "%s" take time in proportion to their number', async (kind, make) => {
  const secret = make(randomFrom(1))
  const pieces = [secret, `${secret} `, `-${secret.slice(0, -1)}`, `${secret.slice(0, -1)}. `]
  const families = pieces.map((piece, i) => repeated(`${kind}, way ${i + 1}`, piece))
  expect(await allTooSlow([{ ...onText(kind), families }])).toEqual([])
})
