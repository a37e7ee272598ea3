/** Damage of every kind to small sources, and what an importer must not do then. */
import { type Fixture, itemsOf, messagesIn, sourceOf } from './fixtures.ts'

/** Cuts each file at every so many bytes. Tells where something was read that was not there, or less than was whole. */
export async function wrongWhenCut(fixture: Fixture, step: number, start = 0): Promise<string[]> {
  const whole = messagesIn(await itemsOf(sourceOf(fixture)))
  const known = new Map(whole.map((item) => [item.id, JSON.stringify(item.message)]))
  const wrong: string[] = []
  for (const path of Object.keys(fixture.files)) {
    const bytes = Buffer.from(fixture.files[path] as string)
    for (let length = start; length < bytes.length; length += step) {
      const cut = sourceOf(fixture, (all, name) => (name === path ? all.subarray(0, length) : all))
      const read = messagesIn(await itemsOf(cut, fixture.format))
      // Without the messages that it stands for, a synthetic summary is all that is left of them.
      const others = read.filter(({ id, message }) => known.get(id) !== JSON.stringify(message) && message.content !== 'Summed up.')
      if (others.length > 0) wrong.push(`${path} cut at ${length}: ${JSON.stringify(others)}`)
      const linesLost = Buffer.from(bytes.subarray(length)).toString('utf8').split('\n').length
      if (!fixture.document && read.length < whole.length - linesLost) wrong.push(`${path} cut at ${length}: ${read.length} messages`)
    }
  }
  return wrong
}

/** Overwrites every so manieth byte. A document has names of fields that decide what is found, so of one it only has to be read. */
export async function wrongWhenOverwritten(fixture: Fixture, step: number, start = 0): Promise<string[]> {
  const idsOf = async (source: ReturnType<typeof sourceOf>): Promise<string[]> =>
    messagesIn(await itemsOf(source, fixture.format)).map(({ id }) => id)
  const whole = await idsOf(sourceOf(fixture))
  const wrong: string[] = []
  for (const path of Object.keys(fixture.files)) {
    const size = Buffer.byteLength(fixture.files[path] as string)
    for (let at = start; at < size; at += step) {
      for (const value of [0x00, 0xff, 0x7b, 0x22, 0x0a, 0x5c]) {
        const spoiled = sourceOf(fixture, (bytes, name) => {
          if (name === path) bytes[at] = value
          return bytes
        })
        const ids = await idsOf(spoiled)
        const lost = whole.filter((id) => !ids.includes(id)).length
        if (!fixture.document && lost > 2) wrong.push(`${path}, byte ${at} is ${value}: ${lost} lost`)
      }
    }
  }
  return wrong
}
