/**
 * Engines with one defect each, made from the memory engine. Every defect is a mistake that an author of an engine could make, and names
 * the cases of the conformance suite that must find it.
 */
import type { Engine, Journal } from '../../src/engine/port.ts'
import { openMemoryEngine } from '../../src/engines/memory/engine.ts'
import type { KeysOf } from '../../src/record/key-hash.ts'
import { intactCrc } from '../../src/record/line.ts'

export interface Defect {
  readonly name: string
  readonly foundBy: readonly string[]
  readonly engine?: (sound: Engine) => Partial<Engine>
  readonly journal?: (sound: Journal) => Partial<Journal>
}

/** Without a defect, a memory engine that only goes through more hands. */
export function openDefective(keysOf: KeysOf, { engine, journal }: Partial<Defect> = {}): Engine {
  const sound = openMemoryEngine({ keysOf })
  return {
    supports: sound.supports,
    warnings: sound.warnings,
    name: (space, id) => sound.name(space, id),
    journal: (name) => {
      const inner = sound.journal(name)
      return { ...handOn(inner), ...journal?.(inner) }
    },
    names: (space) => sound.names(space),
    changes: (cursor) => sound.changes(cursor),
    watch: (hint) => sound.watch(hint),
    close: () => sound.close(),
    ...engine?.(sound),
  }
}

function handOn(sound: Journal): Journal {
  return {
    name: sound.name,
    segments: () => sound.segments(),
    read: (segment, from, limit) => sound.read(segment, from, limit),
    append: (segment, at, group, options) => sound.append(segment, at, group, options),
    sync: (segment) => sound.sync(segment),
    roll: (first, preamble, options) => sound.roll(first, preamble, options),
    lookup: (keys, from, before) => sound.lookup(keys, from, before),
    storeKeys: (segment, end, keys) => sound.storeKeys(segment, end, keys),
    overwrite: (segment, at, was, line) => sound.overwrite(segment, at, was, line),
    purge: (before) => sound.purge(before),
    close: () => sound.close(),
  }
}

const endOf = async (journal: Journal, segment: number): Promise<number | undefined> => (await journal.read(segment, segment))?.end

export const DEFECTS: readonly Defect[] = [
  {
    name: 'an append that does not compare',
    foundBy: ['an append at any other place than the end says moved and writes nothing'],
    journal: (sound) => ({
      append: async (segment, at, group) => sound.append(segment, (await endOf(sound, segment)) ?? at, group),
    }),
  },
  {
    name: 'an append that compares, waits and then writes',
    foundBy: ['of many appends at one place exactly one wins'],
    journal: (sound) => ({
      append: async (segment, at, group) => {
        if (((await endOf(sound, segment)) ?? 0) !== at) return { moved: true, placed: 0 }
        await new Promise((resolve) => setImmediate(resolve))
        return sound.append(segment, (await endOf(sound, segment)) ?? at, group)
      },
    }),
  },
  {
    name: 'an append that says it wrote what it did not',
    foundBy: [
      'an append at any other place than the end says moved and writes nothing',
      'a writer that has not seen the seal is told moved',
    ],
    journal: (sound) => ({
      append: async (segment, at, group) => {
        await sound.append(segment, at, group)
        return { moved: false, placed: group.length }
      },
    }),
  },
  {
    name: 'an append that returns before it has written',
    foundBy: [
      'another handle reads what was written as soon as the append has returned',
      'the caller may use the bytes of an append again once it has returned',
    ],
    journal: (sound) => ({
      append: async (segment, at, group) => {
        setImmediate(() => void sound.append(segment, at, group).catch(() => undefined))
        return { moved: false, placed: group.length }
      },
    }),
  },
  {
    name: 'an append that takes a group for text',
    foundBy: ['lines of any bytes, from one byte to a mebibyte, come back as they were given'],
    journal: (sound) => ({
      append: (segment, at, group) => sound.append(segment, at, Buffer.from(Buffer.from(group).toString('utf8'))),
    }),
  },
  {
    name: 'a read that leaves out a line beyond its limit',
    foundBy: ['a limit bounds the bytes of a read, but one line comes whole'],
    journal: (sound) => ({
      read: async (segment, from, limit = Number.POSITIVE_INFINITY) => {
        const chunk = await sound.read(segment, from, limit)
        return chunk && { ...chunk, lines: chunk.lines.filter(({ bytes }) => bytes.length <= limit) }
      },
    }),
  },
  {
    name: 'a read that judges lines',
    foundBy: ['lines that do not count come back like any other'],
    journal: (sound) => ({
      read: async (segment, from, limit) => {
        const chunk = await sound.read(segment, from, limit)
        return chunk && { ...chunk, lines: chunk.lines.filter(({ bytes }) => intactCrc(bytes) !== undefined) }
      },
    }),
  },
  {
    name: 'a read that takes its own end for that of the segment',
    foundBy: ['a read that its limit ended still says where an append would go'],
    journal: (sound) => ({
      read: async (segment, from, limit) => {
        const chunk = await sound.read(segment, from, limit)
        return chunk && { ...chunk, end: chunk.next }
      },
    }),
  },
  {
    name: 'a roll without its preamble',
    foundBy: ['a roll makes a segment that opens with its preamble'],
    journal: (sound) => ({ roll: (first) => sound.roll(first, Buffer.from(' \n')) }),
  },
  {
    name: 'a roll that every helper writes again',
    foundBy: ['a roll that was made already changes nothing, also when records follow its preamble'],
    journal: (sound) => ({
      roll: async (first, preamble) => {
        const end = await endOf(sound, first)
        if (end === undefined) await sound.roll(first, preamble)
        else await sound.append(first, end, preamble)
      },
    }),
  },
  {
    name: 'a lookup that answers for the whole journal',
    foundBy: ['a lookup knows the segments from `from` on and before `before`, and no others'],
    journal: (sound) => ({ lookup: async (keys, _, before) => sound.lookup(keys, 0, before) }),
  },
  {
    name: 'a lookup that answers in another order',
    foundBy: ['a lookup returns what is known of each key, in the order of the question'],
    journal: (sound) => ({ lookup: (keys, from, before) => sound.lookup([...keys].sort(), from, before) }),
  },
  {
    name: 'a lookup that knows the newest segments only',
    foundBy: ['lookups are exact over forty segments, for a thousand keys and a thousand that are absent'],
    journal: (sound) => ({
      lookup: async (keys, from, before) => {
        const recent = (await sound.segments()).filter((first) => first < before).at(-10) ?? 0
        return sound.lookup(keys, Math.max(from, recent), before)
      },
    }),
  },
  {
    name: 'a purge that takes one segment too many',
    foundBy: ['a purge removes the segments that end at or before the position, and never the last'],
    journal: (sound) => ({
      purge: async (before) => sound.purge((await sound.segments()).find((first) => first > before) ?? before),
    }),
  },
  {
    name: 'a purge that removes nothing and says that it did',
    foundBy: ['what was purged reads as missing, what is kept reads as before'],
    journal: () => ({ purge: async () => 1_000 }),
  },
  {
    name: 'names that run into each other',
    foundBy: ['no space and id make the name of another space and id'],
    engine: (sound) => ({ name: (space, id) => sound.name('', `${space}/${id}`) }),
  },
  {
    name: 'names without case',
    foundBy: ['hostile ids have names of their own, and journals that work'],
    engine: (sound) => ({ name: (space, id) => sound.name(space, id.toLowerCase()) }),
  },
  {
    name: 'a list that looks at no space',
    foundBy: ['names lists every journal once, of the store or of one space'],
    engine: (sound) => ({ names: () => sound.names() }),
  },
  {
    name: 'a feed that takes every cursor',
    foundBy: [
      'changes without a cursor says reset, and its cursor can be used',
      'a cursor that the store did not give says reset, and the answer can be used',
    ],
    engine: (sound) => ({ changes: async (cursor) => ({ ...(await sound.changes(cursor)), reset: false }) }),
  },
  {
    name: 'a feed that tells of one change at a time',
    foundBy: ['appends to many journals at once are all announced, and a cursor can be used twice'],
    engine: (sound) => ({
      changes: async (cursor) => {
        const answer = await sound.changes(cursor)
        return { ...answer, names: answer.names.slice(-1) }
      },
    }),
  },
  {
    name: 'a watch that never calls',
    foundBy: ['watch calls back after a change, until it is stopped'],
    engine: () => ({ watch: () => () => undefined }),
  },
  {
    name: 'a watch that cannot be stopped',
    foundBy: ['watch calls back after a change, until it is stopped'],
    engine: (sound) => ({
      watch: (hint) => {
        sound.watch(hint)
        return () => undefined
      },
    }),
  },
  {
    name: 'a close that closes nothing',
    foundBy: ['after close every call is refused with CLOSED'],
    engine: () => ({ close: async () => undefined }),
  },
]
