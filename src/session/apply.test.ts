import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Counted, countedAt } from '../record/fold.ts'
import { encodeBody, Group } from '../record/line.ts'
import type { Operation } from '../record/operation.ts'
import type { Address, JsonObject, RecordType } from '../record/record.ts'
import { apply } from './apply.ts'
import { archivedOf, branchTo, heldOf, isWhole, without } from './branch.ts'
import * as decide from './decide.ts'
import * as archives from './decide-commit.ts'
import { JsonText } from './json-text.ts'
import type { MessagesAppended } from './records.ts'
import { sessionReducer } from './reducer.ts'
import { INITIAL, type Point, type SessionState } from './state.ts'
import { recordUsage } from './usage.ts'

/** A journal in its simplest form: every command that is not refused becomes a record. */
class Notebook {
  readonly records: Counted[] = []
  state: SessionState = INITIAL
  /** Every point there ever was. */
  readonly points: Point[] = []

  carry(operation: Operation<SessionState, unknown>): void {
    const decision = operation.decide(this.state, () => undefined)
    if ('write' in decision && decision.write !== undefined) this.write(decision.write.type, decision.write.payload, decision.write.parent)
  }

  write(type: RecordType, payload: JsonObject, parent?: Address): void {
    const count = this.records.length
    const at = new Date(Date.UTC(2026, 0, 1) + count).toISOString()
    const body = encodeBody({ id: `r${count}`, at, type, payload, ...(parent === undefined ? {} : { parent }) })
    const last = this.records.at(-1)
    const counted = countedAt({ draft: body.draft, place: new Group(last?.end ?? 0, '').add(body), prev: last?.crc ?? '' })
    this.records.push(counted)
    this.state = apply(this.state, counted)
    if (type === 'messages.appended') this.points.push(this.state.head)
  }
}

type Command = (notebook: Notebook) => void

const name = fc.constantFrom('x', 'y', 'z')
const pick = (notebook: Notebook, index: number): Point | undefined => notebook.points[index % Math.max(notebook.points.length, 1)]
const say = (size: number): JsonText[] => Array.from({ length: size }, (_, i) => new JsonText(`{"content":"${i}"}`))

const appends: fc.Arbitrary<Command> = fc
  .record({ size: fc.integer({ min: 1, max: 3 }), under: fc.option(fc.nat(30), { freq: 2 }) })
  .map(({ size, under }) => (notebook) => {
    const parent = under === null ? undefined : pick(notebook, under)
    notebook.carry(decide.append({}, { messages: say(size), tokens: size, parent }))
  })
const moves: fc.Arbitrary<Command> = fc.oneof(
  name.map(
    (one): Command =>
      (notebook) =>
        notebook.carry(decide.snapshot({}, one)),
  ),
  name.map(
    (one): Command =>
      (notebook) =>
        notebook.carry(decide.revert({}, { snapshot: one })),
  ),
  fc.nat(30).map(
    (index): Command =>
      (notebook) =>
        notebook.carry(decide.revert({}, { message: 'm' }, pick(notebook, index))),
  ),
  fc.constant<Command>((notebook) => notebook.carry(decide.undo({}))),
)
const others: fc.Arbitrary<Command> = fc.oneof(
  fc
    .record({
      title: fc.option(fc.string()),
      addTags: fc.array(name),
      metadata: fc.dictionary(fc.string(), fc.option(fc.jsonValue() as fc.Arbitrary<never>)),
    })
    .map(
      (said): Command =>
        (notebook) =>
          notebook.carry(decide.describe({}, JSON.parse(JSON.stringify(said)) as object)),
    ),
  fc.array(name, { minLength: 1 }).map(
    (keys): Command =>
      (notebook) =>
        notebook.carry(
          decide.putEntries(
            {},
            keys.map((key) => ({ channel: key, key })),
          ),
        ),
  ),
  name.map(
    (model): Command =>
      (notebook) =>
        notebook.carry(recordUsage({}, { model, inputTokens: 3, outputTokens: 4 })),
  ),
  name.map(
    (share): Command =>
      (notebook) =>
        notebook.carry(decide.share({}, { share, token: 'digest', expiresAt: null })),
  ),
  name.map(
    (share): Command =>
      (notebook) =>
        notebook.carry(decide.unshare({}, share)),
  ),
  name.map(
    (session): Command =>
      (notebook) =>
        notebook.carry(decide.grant({}, { session, kind: 'fork', message: null })),
  ),
  name.map(
    (session): Command =>
      (notebook) =>
        notebook.carry(decide.release(session)),
  ),
  fc.nat(5).map(
    (number): Command =>
      (notebook) =>
        commit(notebook, number),
  ),
  fc.constant<Command>((notebook) => notebook.write('message.replaced', { target: 'x', message: {}, old: '', prior: null })),
  fc.constant<Command>((notebook) => notebook.write('segment.sealed', { why: 'purge' })),
  fc.constant<Command>((notebook) => notebook.write('from.the.future' as RecordType, { some: 'thing' })),
)
const lives: fc.Arbitrary<Command> = fc.oneof(
  fc.constant<Command>((notebook) => notebook.carry(decide.remove({}))),
  fc.constant<Command>((notebook) => notebook.carry(decide.restore({}))),
  fc.constant<Command>((notebook) => notebook.carry(decide.create({}, { space: 's', session: 'i' }))),
)

/** Archives what is on the branch, then lets the work come to something. */
function commit(notebook: Notebook, number: number): void {
  const takes = branchTo(notebook.state, notebook.state.head) as unknown as JsonObject[]
  notebook.write('commit.requested', { archive: number, takes, covers: [], n: notebook.state.head.n, t: notebook.state.head.t })
  const ends = ['commit.leased', 'commit.finished', 'commit.failed', 'commit.cancelled', 'memories.retracted'] as const
  notebook.write(ends[number % ends.length] as RecordType, { archive: number, attempt: 1 })
}

const created: Command = (notebook) => notebook.carry(decide.create({}, { space: 's', session: 'i' }))
const rows = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: appends },
    { weight: 3, arbitrary: moves },
    { weight: 3, arbitrary: others },
    { weight: 1, arbitrary: lives },
  ),
  {
    maxLength: 30,
  },
)

function written(commands: readonly Command[]): Notebook {
  const notebook = new Notebook()
  for (const command of [created, ...commands]) command(notebook)
  return notebook
}

/** As another process would have it, from the bytes. */
function readBack<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

function folded(records: readonly Counted[], state: SessionState = INITIAL): SessionState {
  return records.reduce((before, counted) => apply(before, counted), state)
}

describe('a state', () => {
  test('comes to the same bytes from all records and from any checkpoint, in every process', () => {
    fc.assert(
      fc.property(rows, fc.nat(60), (commands, cut) => {
        const { records, state } = written(commands)
        const bytes = JSON.stringify(sessionReducer.checkpoint(state))
        expect(JSON.stringify(sessionReducer.checkpoint(folded(readBack(records))))).toBe(bytes)
        const index = cut % (records.length + 1)
        const restored = sessionReducer.restore(readBack(sessionReducer.checkpoint(folded(records.slice(0, index)))))
        expect(JSON.stringify(sessionReducer.checkpoint(restored))).toBe(
          JSON.stringify(sessionReducer.checkpoint(folded(records.slice(0, index)))),
        )
        expect(JSON.stringify(sessionReducer.checkpoint(folded(readBack(records.slice(index)), restored)))).toBe(bytes)
      }),
    )
  })

  test('is never changed, only replaced', () => {
    const freeze = <T>(value: T): T => {
      if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) Object.values(Object.freeze(value)).forEach(freeze)
      return value
    }
    fc.assert(
      fc.property(rows, (commands) => {
        const { records, state } = written(commands)
        expect(records.reduce((before, counted) => freeze(apply(before, freeze(counted))), freeze(INITIAL))).toEqual(state)
      }),
    )
  })

  test('of an older version, without a field, has what that field is at first', () => {
    const { shares: _, ...older } = written([]).state
    expect(sessionReducer.restore(older as unknown as JsonObject).shares).toEqual([])
  })

  test('changes its version with what a caller wrote, and with nothing that happens in the background', () => {
    const notebook = written([])
    const versions: [string, boolean][] = []
    for (const type of [
      'usage.recorded',
      'fork.granted',
      'fork.released',
      'commit.leased',
      'commit.finished',
      'commit.failed',
      'segment.sealed',
    ] as const) {
      const { version, updatedAt } = notebook.state
      notebook.write(type, {
        model: 'm',
        inputTokens: 1,
        outputTokens: 1,
        session: 'x',
        why: 'size',
        archive: 1,
        takes: [],
        covers: [],
        n: 0,
        t: 0,
      })
      versions.push([type, notebook.state.version === version && notebook.state.updatedAt === updatedAt])
    }
    expect(versions.filter(([, same]) => !same)).toEqual([])
    for (const type of [
      'session.described',
      'messages.appended',
      'head.moved',
      'commit.requested',
      'commit.cancelled',
      'share.granted',
    ] as const) {
      const { version } = notebook.state
      const point = { at: null, n: 0, t: 0 }
      notebook.write(type, { messages: [{}], n: 0, t: 0, tokens: 1, to: point, left: point, takes: [], covers: [], point })
      expect(notebook.state.version, type).not.toBe(version)
    }
  })

  test('says of a type that it does not know that there was one, and that in a new incarnation too', () => {
    const notebook = written([])
    notebook.write('from.the.future' as RecordType, {})
    expect(notebook.state.unknown).toBe(true)
    notebook.write('session.deleted', {})
    notebook.write('session.created', { space: 's', session: 'i' })
    expect(notebook.state.unknown).toBe(true)
  })

  test('counts what archives hold of the branch, and no more once the head has left them', () => {
    const notebook = written([])
    notebook.carry(decide.append({}, { messages: say(4), tokens: 40 }))
    notebook.carry(decide.snapshot({}, 'x'))
    commit(notebook, 1)
    notebook.carry(decide.append({}, { messages: say(1), tokens: 10 }))
    expect(notebook.state).toMatchObject({ archived: { n: 4, t: 40 }, head: { n: 5, t: 50 } })
    const half: Point = { at: [notebook.points[0]?.at?.[0] as number, 1], n: 2, t: 20 }
    notebook.carry(decide.revert({}, { message: 'm' }, half))
    expect(notebook.state.archived).toEqual({ n: 2, t: 20 })
  })

  test('knows what archives hold as if it had gone through all of them, whatever they were left by', () => {
    const commitTo =
      (index: number): Command =>
      (notebook) => {
        const boundary = pick(notebook, index)
        if (boundary !== undefined) notebook.carry(archives.commit({}, boundary, boundary))
      }
    const commits = fc.nat(30).map(commitTo)
    const two: Command = (notebook) => notebook.carry(decide.append({}, { messages: say(2), tokens: 2 }))
    const back: Command = (notebook) => notebook.carry(decide.revert({}, { message: 'm' }, pick(notebook, 0)))
    const twice = [two, commitTo(0), two, commitTo(1)]
    const commands = fc.array(fc.oneof({ weight: 3, arbitrary: appends }, { weight: 2, arbitrary: commits }, moves), { maxLength: 40 })
    let [whole, cut] = [0, 0]
    fc.assert(
      fc.property(commands, (all) => {
        const { state } = written(all)
        const branch = branchTo(state, state.head)
        const { n, t } = heldOf(branch, state.archives)
        expect(state.archived).toEqual({ n, t: n === state.head.n ? state.head.t : Math.min(t, state.head.t) })
        expect(without(archivedOf(state.archives), state.held)).toEqual([])
        expect(without(state.held, archivedOf(state.archives))).toEqual([])
        expect(state.cut).toBe(state.archives.some((archive) => !isWhole(archive, branch)))
        if (state.cut) cut++
        else if (state.archives.length > 1) whole++
      }),
      // Chance alone does not always find both.
      { examples: [[twice], [[two, two, commitTo(1), back]]] },
    )
    expect(Math.min(whole, cut)).toBeGreaterThan(0)
  })
})

describe('a record that rotted', () => {
  interface Message {
    readonly at: Address
    readonly depth: number
  }

  /** The messages on the branch, as the records that are left have them. */
  function shown(state: SessionState, records: readonly Counted[]): Message[] {
    return branchTo(state, state.head).flatMap(({ from, to, first, last }) =>
      records
        .filter(({ record, at }) => record.type === 'messages.appended' && at >= first && at <= last)
        .flatMap(({ record, at }) => {
          const { messages, n } = record as unknown as MessagesAppended
          return messages.map((_, index): Message => ({ at: [at, index], depth: n + index + 1 }))
        })
        .filter(({ depth }) => depth > from && depth <= to),
    )
  }

  test('costs its messages and no others: the rest of the branch is what it was, at the depths that it had', () => {
    let lost = 0
    fc.assert(
      fc.property(
        fc.array(fc.oneof({ weight: 3, arbitrary: appends }, { weight: 1, arbitrary: moves }), { minLength: 3, maxLength: 25 }),
        fc.nat(60),
        (commands, which) => {
          const { records, state } = written(commands)
          const appended = records.filter(({ record }) => record.type === 'messages.appended')
          const rotten = appended[which % Math.max(appended.length, 1)]
          if (rotten === undefined || rotten === appended.at(-1) || isLeft(rotten, appended)) return
          lost++
          const left = records.filter((counted) => counted !== rotten)
          const after = folded(left)
          expect(after.head).toEqual(state.head)
          expect(shown(after, left)).toEqual(shown(state, records).filter(({ at }) => at[0] !== rotten.at))
        },
      ),
      { numRuns: 300 },
    )
    expect(lost).toBeGreaterThan(100)
  })

  /** Nothing goes on from it where it was written; somebody may come back to it, and then nobody knows where it hung. */
  function isLeft(rotten: Counted, appended: readonly Counted[]): boolean {
    const next = appended[appended.indexOf(rotten) + 1]
    return next?.record.parent?.[0] !== rotten.at
  }

  test('may be the one that says whose session it is: it is one all the same', () => {
    const { records } = written([(notebook) => notebook.carry(decide.append({}, { messages: say(2), tokens: 2 }))])
    expect(folded(records.slice(1))).toMatchObject({ status: 'live', id: null, space: null, head: { n: 2 } })
  })
})
