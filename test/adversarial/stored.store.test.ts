import { expect, onTestFinished, test } from 'vitest'
import { ROUTES } from '../../src/server/table.ts'
import { tooSlow } from './entry-points.ts'
import { readsOf } from './requests.ts'
import { Served } from './server.ts'
import { createSubject, type Named, untilIndexed } from './subject.ts'
import { FAMILIES } from './texts.ts'

/** A session has its text several times. */
const LENGTHS = [1000]
/** A session with any text takes some tens of milliseconds, for about fifteen writes. */
const WRITE_FLOOR_MS = 100

const READS = ROUTES.filter(({ method }) => method === 'get').flatMap(readsOf)

test.each(FAMILIES.map((family) => [family.name, family] as const))(
  'a session with a text of %s is written, summarised, indexed and read in time in proportion to it',
  async (_, family) => {
    const served = await Served.open()
    onTestFinished(() => served.close())
    const named = new Map<string, Named>()
    let sessions = 0
    const create = async (text: string): Promise<Named> => {
      const created = await createSubject(served.store, `talk-${++sessions}`, text)
      await untilIndexed(served.store)
      return created
    }
    const found: string[] = []
    for (const { name, send } of READS) {
      const prepare = async (text: string) => {
        const own = named.get(text) ?? (await create(text))
        named.set(text, own)
        return () => send(served, own, text)
      }
      found.push(...(await tooSlow({ name, lengths: LENGTHS, families: [family], prepare })))
    }
    // Last, since each repeat leaves a session that the reads of a whole space would have to read.
    const writing = { name: 'a new session', lengths: LENGTHS, floorMs: WRITE_FLOOR_MS, families: [family] }
    found.push(...(await tooSlow({ ...writing, prepare: (text) => () => create(text) })))
    expect(found).toEqual([])
  },
)
