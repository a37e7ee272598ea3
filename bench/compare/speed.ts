/** How long things take. All contenders take turns, each in a process of its own, and a first round of each is thrown away. */
import { join } from 'node:path'
import { interleave, median } from '../harness.ts'
import type { Contender } from './contender.ts'
import { type Order, Player } from './player.ts'
import type { Row } from './row.ts'

const LONG = 100_000
const SMALL_SESSIONS = 1000
const CALLERS = 64
/** Whoever needs longer than this for one thing is measured once. */
const SLOW_MS = 1000

interface Setting {
  readonly directory: string
  readonly quick: boolean
}

/** Something that is timed: what is made ready for a round, and the order whose answer is its time in milliseconds. */
interface Timed {
  readonly name: string
  readonly whenBehind: string
  readonly ready?: (round: string) => readonly Order[]
  readonly order: (round: string, directory: string) => Order
  /** Whether those that keep nothing on a disk have such a thing. */
  readonly inMemory?: false
}

export async function compareSpeed(contenders: readonly Contender[], { directory, quick }: Setting): Promise<Row[]> {
  const long = quick ? 500 : LONG
  const places = contenders.map(({ name, keeps }) => ({
    name,
    keeps,
    directory: join(directory, name.replaceAll(' ', '-')),
    player: new Player(name),
  }))
  try {
    console.error(`  filling all with ${long.toLocaleString('en')} messages and more …`)
    await Promise.all(
      places.map(async ({ player, directory }) => {
        await player.ask({ do: 'open', directory })
        await player.ask({ do: 'fill', session: 'long', count: long })
        await player.ask({ do: 'fill', session: 'middle', count: long / 10 })
        for (let n = 0; n < (quick ? 10 : SMALL_SESSIONS); n++) await player.ask({ do: 'fill', session: `small-${n}`, count: 10 })
      }),
    )
    const rows: Row[] = []
    for (const timed of timedWith(long)) {
      console.error(`  ${timed.name} …`)
      const players = places.filter(({ keeps }) => keeps !== 'memory' || timed.inMemory !== false)
      const done = new Map<string, number[]>()
      const turn =
        ({ name, player, directory }: (typeof places)[number]) =>
        async (): Promise<number> => {
          const before = done.get(name) ?? []
          const [, second = 0] = before
          if (second > SLOW_MS) return second
          const round = `${timed.name.replaceAll(/[^a-z0-9]+/g, '-')}-${before.length}`
          for (const order of timed.ready?.(round) ?? []) await player.ask(order)
          const time = (await player.ask(timed.order(round, directory))) as number
          done.set(name, [...before, time])
          return time
        }
      const times = await interleave(quick ? 1 : 5, Object.fromEntries(players.map((place) => [place.name, turn(place)])))
      const cells = Object.entries(times).map(([name, samples]) => [name, cellOf(samples)] as const)
      rows.push({ name: timed.name, whenBehind: timed.whenBehind, cells: Object.fromEntries(cells) })
    }
    return rows
  } finally {
    await Promise.all(places.map(({ player }) => player.kill()))
  }
}

function timedWith(long: number): Timed[] {
  const shown = (count: number): string => count.toLocaleString('en')
  return [
    appends(10, 20, 10),
    appends(1000, 1, 200),
    {
      name: `append, ${shown(long)} messages in the session`,
      whenBehind: ONE_CALLER,
      order: (round) => ({ do: 'append', sessions: ['long'], each: 200, tag: round }),
    },
    {
      name: `append, ${CALLERS} callers at once, each in its session`,
      whenBehind:
        'lmdb writes to one file, so that one sync is enough for whatever waits; each session of Holdfast is a file, and has a sync of its own. A plain file is that too, with nothing looked up or checked.',
      order: (round) => ({ do: 'append at once', callers: CALLERS, each: 20, tag: round }),
    },
    {
      name: `open, and read the last 20 of ${shown(long)}`,
      whenBehind:
        'Holdfast opens a directory, reads the last segment of the session from its checkpoint on, and verifies every line of it; a database has its root page and an index.',
      order: (_, directory) => ({ do: 'reopen', directory, session: 'long', last: 20 }),
      inMemory: false,
    },
    {
      name: 'list the 50 newest sessions, after an append',
      whenBehind:
        "Holdfast's catalog is derived from the journals, and lives in a thread of its own: a list reads what has changed since, then asks that thread. It pays then, so that an append does not.",
      order: (round) => ({ do: 'list', session: 'small-7', tag: round }),
    },
    {
      name: 'search for a rare word, after an append',
      whenBehind:
        'The append before has to be found as well, and is put into the index by the search, not by the append. Each hit is then read from its journal and checked: the index holds no text of its own.',
      order: (round) => ({ do: 'search', session: 'small-7', tag: round }),
    },
    {
      name: `fork a session of ${shown(long / 10)}`,
      whenBehind: 'A fork is two records, one in each journal, each synced with the directories that lead to it.',
      order: (round) => ({ do: 'fork', session: 'middle', as: round }),
    },
  ]
}

const ONE_CALLER =
  'SQLite holds the thread of the process while the disk syncs, which saves the way to another thread and back; a plain file looks nothing up and checks nothing. Holdfast looks up the id, and lets the process go on with other things while the disk syncs, which shows as soon as there are other things: see the callers at once.'

/** To sessions of this size, which hardly grow by it. */
function appends(size: number, sessions: number, each: number): Timed {
  const names = (round: string): string[] => Array.from({ length: sessions }, (_, n) => `${round}-${n}`)
  return {
    name: `append, ${size.toLocaleString('en')} messages in the session`,
    whenBehind: ONE_CALLER,
    ready: (round) => names(round).map((session) => ({ do: 'fill', session, count: size })),
    order: (round) => ({ do: 'append', sessions: names(round), each, tag: `${round}-more` }),
  }
}

function cellOf(samples: readonly number[]): { text: string; value: number } {
  const value = median(samples)
  return { value, text: `${show(value)} (${show(Math.min(...samples))}–${show(Math.max(...samples))})` }
}

function show(milliseconds: number): string {
  return milliseconds >= 100 ? Math.round(milliseconds).toLocaleString('en') : milliseconds.toPrecision(2)
}
