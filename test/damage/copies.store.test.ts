/**
 * One copy of a record is hit, for every type that is written twice: each read path shows what it showed before, and the doctor reports a copy
 * that is lost, and no damage. The store is the golden one, which holds every type, in segments with checkpoints and without.
 *
 * Of a type that is written once, the doctor reports damage.
 */
import { basename } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { splitLines } from '../../src/record/line.ts'
import { type JournalRecord, RECORD_TYPES, WRITTEN_TWICE } from '../../src/record/record.ts'
import type { Session } from '../../src/store/session.ts'
import type { Store } from '../../src/store/store.ts'
import { exportFrom } from '../../src/transfer/export/export.ts'
import type { Finding } from '../../src/verify/findings.ts'
import type { Files } from '../doctor/disk.ts'
import { makeGolden, openGolden } from '../golden/make.ts'
import { tellSession } from '../golden/tell.ts'
import { oneIn, runs } from '../long.ts'

const MASTER_KEY = Buffer.alloc(32, 7).toString('base64')
/** Sessions that share messages: what hits one of them must cost the others nothing. */
const FAMILY = ['talk', 'fork', 'child']

interface Copy {
  readonly path: string
  readonly session: string
  readonly from: number
  readonly to: number
  readonly record: JournalRecord
}

/** Every line of a type in the journals of the default space. */
function copiesIn(files: Files, type: string): Copy[] {
  return [...files].flatMap(([path, bytes]) => {
    const session = /^sessions\/37a8eec1ce19687d132fe29051dca629\/..\/([a-z]+)-[^/]+\/\d+\.jsonl$/.exec(path)?.[1]
    if (session === undefined) return []
    const lines = splitLines(bytes, 0).lines.filter((line) => line.bytes[0] === 0x7b)
    const found = lines.flatMap(({ at, bytes: line }) => {
      const text = Buffer.from(line).toString()
      // One line of the store is rotten from the beginning.
      const record = /"type":"[a-z.]+"/.test(text) ? (JSON.parse(text) as JournalRecord) : undefined
      return record?.type === type ? [{ path, session, from: at, to: at + line.length, record }] : []
    })
    return found
  })
}

/** Bytes of a line that mean different things: its brace, version, id, payload, chain, checksum and newline. */
function bytesOf({ from, to }: Copy): number[] {
  const middle = Math.floor((from + to) / 2)
  return [from, from + 5, from + 15, middle, to - 50, to - 5, to]
}

function flipped(files: Files, path: string, byte: number): Files {
  const bytes = Buffer.from(files.get(path) as Buffer)
  bytes[byte] = (bytes[byte] as number) ^ 0x04
  return new Map(files).set(path, bytes)
}

async function shown(files: Files, session: string, masterKey: string | undefined): Promise<unknown> {
  await using store = await openGolden(files, masterKey)
  const all = FAMILY.includes(session) ? FAMILY : [session]
  const each = await Promise.all(all.map((id) => shownOf(store, id)))
  return JSON.parse(JSON.stringify(each))
}

/** What every read path shows of a session, but for where things stand and that something is damaged. */
async function shownOf(store: Store, id: string): Promise<unknown> {
  const { engine, replicas } = store.parts
  const { state } = await replicas.of(engine.name('default', id)).replica.read()
  const { status, title, tags, owner, metadata, policies, createdAt, deletedAt, purged } = state
  const grants = state.grants.map(({ session, kind, message }) => ({ session, kind, message }))
  const about = { status, title, tags, owner, metadata, policies, createdAt, deletedAt, purged, grants }
  if (status !== 'live') return about
  const session = store.session(id)
  const info = await session.info()
  const { status: _, ...told } = (await tellSession(info, session)) as Record<string, unknown>
  return {
    ...about,
    ...told,
    parent: info.parent,
    tasks: (await session.archives()).map(({ status: task, error }) => ({ task, error })),
    recordPage: await recordPagesOf(session),
    followed: await followed(session),
    exported: await exported(store, id),
  }
}

/** Page by page, so that a page ends everywhere. */
async function recordPagesOf(session: Session): Promise<string[]> {
  const ids: string[] = []
  for (let before: number | null | undefined; before !== null; ) {
    const page = await session.recordPage({ limit: 1, ...(before === undefined ? {} : { before }) })
    ids.push(...page.records.map(({ record }) => `${record.type} ${record.id}`))
    before = page.before
  }
  return ids
}

async function followed(session: Session): Promise<string[]> {
  const [last] = (await session.recordPage({ limit: 1 })).records
  const ids: string[] = []
  for await (const { record } of session.follow({ fromStart: true })) {
    if (record.type !== 'segment.sealed') ids.push(`${record.type} ${record.id}`)
    if (record.id === last?.record.id) break
  }
  return ids
}

async function exported(store: Store, session: string): Promise<string> {
  let text = ''
  for await (const piece of exportFrom(store, { session })) text += piece
  return text
}

async function findingsOf(files: Files, session: string, masterKey: string | undefined): Promise<Finding[]> {
  await using store = await openGolden(files, masterKey)
  const findings: Finding[] = []
  for await (const finding of doctor(store, { session })) findings.push(finding)
  return findings
}

describe.each([
  ['in clear', undefined, runs(3, 1)],
  ['encrypted', MASTER_KEY, runs(15, 5)],
] as const)('of a record of a store %s', (_, masterKey, step) => {
  let files: Files
  const before = new Map<string, unknown>()
  beforeAll(async () => {
    files = await makeGolden(masterKey)
  })
  const whole = async (session: string): Promise<unknown> => {
    if (!before.has(session)) before.set(session, await shown(files, session, masterKey))
    return before.get(session)
  }
  /** Some bytes of some copies: one in `step` of those that mean something. */
  const hits = (type: string): { copy: Copy; byte: number }[] =>
    oneIn(
      step,
      copiesIn(files, type).flatMap((copy) => bytesOf(copy).map((byte) => ({ copy, byte }))),
    )

  test.each([...WRITTEN_TWICE])(
    '%s, either copy may rot: every read path shows what it showed, and the doctor reports a note',
    async (type) => {
      const copies = copiesIn(files, type)
      expect(copies.length).toBeGreaterThan(1)
      for (const { copy, byte } of hits(type)) {
        const { path, session, from } = copy
        const what = `${type} of ${session} at ${from}, byte ${byte - from}`
        const damaged = flipped(files, path, byte)
        expect(await shown(damaged, session, masterKey), what).toEqual(await whole(session))
        const findings = await findingsOf(damaged, session, masterKey)
        const segment = Number.parseInt(basename(path), 10)
        const here = findings.filter(
          (one) => one.segment === segment && one.offset !== null && one.offset <= byte && byte <= one.offset + (one.length ?? 0),
        )
        expect(
          here.map(({ kind }) => kind).filter((kind) => kind !== 'lost-copy' && kind !== 'torn'),
          what,
        ).toEqual([])
        expect(here, what).not.toEqual([])
        expect(
          findings.filter(({ severity }) => severity === 'damage'),
          what,
        ).toEqual([])
      }
    },
    300_000,
  )

  test.each(RECORD_TYPES.filter((type) => !WRITTEN_TWICE.has(type)))(
    '%s, which is written once, the doctor reports damage',
    async (type) => {
      // The last one: of an earlier checkpoint the next one shows that nothing was lost.
      const copy = copiesIn(files, type).findLast(({ session }) => session === 'talk' || session === 'archives')
      if (copy === undefined) throw new Error(`There is no ${type}`)
      const byte = Math.floor((copy.from + copy.to) / 2)
      const findings = await findingsOf(flipped(files, copy.path, byte), copy.session, masterKey)
      expect(findings.map(({ kind }) => kind)).toContain('rotten')
    },
  )
})
