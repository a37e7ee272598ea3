/**
 * Fault x surface: whatever happens to a journal, every way to read it says so. The surfaces are taken from the tables that make them, so a
 * new route, command, tool, method or format fails here until it has an answer.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import type { DamagedPlace } from '../../src/store/damage/damage.ts'
import { openStore } from '../../src/store/open-store.ts'
import { EXPORT_FORMATS, exportFrom } from '../../src/transfer/export/export.ts'
import { sample } from '../long.ts'
import { READS, type Seen } from './surfaces/answers.ts'
import { METHOD_NAMES, METHOD_SURFACES } from './surfaces/client-methods.ts'
import { COMMAND_NAMES, COMMAND_SURFACES, STATED_COMMANDS } from './surfaces/commands.ts'
import { type Fault, FILE_FAULTS } from './surfaces/faults.ts'
import { MCP_SURFACES, toolNames } from './surfaces/mcp-tools.ts'
import { type Damaged, makeDamaged, ON_POSTGRES, Opened } from './surfaces/place.ts'
import { ONLY_FILES, ROW_FAULTS } from './surfaces/postgres-faults.ts'
import { ROUTE_NAMES, ROUTE_SURFACES, STATED_ROUTES } from './surfaces/routes.ts'
import { TALK } from './surfaces/subject.ts'
import { type Surface, seen } from './surfaces/surface.ts'

const FORMAT_SURFACES: readonly Surface[] = EXPORT_FORMATS.map((format) => ({
  name: `export as ${format}`,
  answers: READS,
  on: 'reading',
  ask: ({ store }) =>
    seen(
      async () => {
        const damage: DamagedPlace[] = []
        for await (const _ of exportFrom(store, { session: TALK, format, onSession: (__, places) => void damage.push(...places) }));
        return damage
      },
      (damage) => damage.length > 0,
    ),
}))

const SURFACES = [...ROUTE_SURFACES, ...METHOD_SURFACES, ...MCP_SURFACES, ...FORMAT_SURFACES, ...COMMAND_SURFACES]

/** The catalog learns of damage from the doctor, and lists are read from it. */
const ALWAYS_ASKED = new Set(COMMAND_SURFACES.filter(({ name }) => name.startsWith('holdfast doctor')))

const FAULTS: readonly Fault[] = ON_POSTGRES ? ROW_FAULTS : FILE_FAULTS

describe('the table of surfaces', () => {
  test('every fault to files has a counterpart in a database, which does the same to a session or has a stated reason', () => {
    const inRows = new Map(ROW_FAULTS.map(({ name, effect }) => [name, effect]))
    for (const { name, effect } of FILE_FAULTS) {
      if (name in ONLY_FILES) expect(inRows.has(ONLY_FILES[name] as string)).toBe(true)
      else expect([name, inRows.get(name)]).toEqual([name, effect])
    }
  })

  test('every route has a stated answer', () => {
    expect([...STATED_ROUTES].sort()).toEqual([...ROUTE_NAMES].sort())
  })

  test('every command has a stated answer', () => {
    expect([...STATED_COMMANDS].sort()).toEqual([...COMMAND_NAMES].sort())
  })

  test('every method of the client has a stated answer', () => {
    expect(METHOD_SURFACES.map(({ name }) => name).sort()).toEqual([...METHOD_NAMES].sort())
  })

  test('every MCP tool, prompt and resource has a stated answer', async () => {
    const store = await openStore('memory:')
    expect(MCP_SURFACES.map(({ name }) => name).sort()).toEqual((await toolNames(store)).sort())
    await store.close()
  })
})

/** Commands are processes of their own, so that of each fault some are asked; in other turns, others. */
function askedAfter(fault: Fault): readonly Surface[] {
  const others = COMMAND_SURFACES.filter((surface) => !ALWAYS_ASKED.has(surface))
  const asked = new Set([...ALWAYS_ASKED, ...sample(others, 8, FAULTS.indexOf(fault))])
  return SURFACES.filter((surface) => surface.run === undefined || asked.has(surface))
}

describe.each(FAULTS)('after $name', (fault) => {
  const surfaces = askedAfter(fault)
  const made = new Map<Surface['on'], Promise<Damaged>>()
  const open = new Map<Surface['on'], Promise<Opened>>()

  const damaged = (on: Surface['on']): Promise<Damaged> => {
    const known = made.get(on) ?? makeDamaged(fault)
    made.set(on, known)
    return known
  }
  const opened = (on: Surface['on']): Promise<Opened> => {
    const known = open.get(on) ?? damaged(on).then(async (place) => rebuilt(await Opened.open(place), on))
    open.set(on, known)
    return known
  }

  /** What each command answered. They run one after the other, as processes of their own, while this one asks the other surfaces. */
  const commands = new Map<Surface, Promise<Seen>>()

  beforeAll(() => {
    const place = damaged('commands')
    let before: Promise<unknown> = place
    for (const surface of surfaces) {
      const { run } = surface
      if (run === undefined) continue
      const answered = before.then(async () => run(await place))
      commands.set(surface, answered)
      before = answered.catch(() => undefined)
    }
  })

  afterAll(async () => {
    await Promise.allSettled(commands.values())
    for (const one of await Promise.allSettled(open.values())) if (one.status === 'fulfilled') await one.value.close()
    for (const one of await Promise.allSettled(made.values())) if (one.status === 'fulfilled') one.value.remove()
  })

  for (const surface of surfaces) {
    const { name, answers, on, ask, run } = surface
    const answer = answers[fault.effect]
    const work = ask ?? run
    if (work === undefined) continue
    const what = answer === 'reports' ? 'reports the damage' : answer === 'refuses' ? 'refuses with DAMAGED' : `is ${answer}`
    test(`${name} ${what}`, async () => {
      const found = ask === undefined ? await commands.get(surface) : await ask(await opened(on))
      expect(found).toEqual({ reported: answer === 'reports', refused: answer === 'refuses' })
    })
  }

  // skip: where a read refuses, there is no export to count in
  test.skipIf(READS[fault.effect] !== 'reports')('all exports agree on the number of places', async () => {
    const { store } = await opened('reading')
    const counts = new Set<number>()
    for (const format of EXPORT_FORMATS) {
      let places = 0
      const onSession = (_: string, damage: readonly DamagedPlace[]): void => {
        places += damage.length
      }
      for await (const _ of exportFrom(store, { session: TALK, format, onSession }));
      counts.add(places)
    }
    expect(counts.size).toBe(1)
  })
})

/** The catalog looks at nothing that was not announced. Lists learn of damage when it is rebuilt, a search when the doctor has read the journals. */
async function rebuilt(opened: Opened, on: Surface['on']): Promise<Opened> {
  if (on === 'reading') await opened.store.rebuildCatalog()
  if (on === 'searching') for await (const _ of doctor(opened.store));
  return opened
}
