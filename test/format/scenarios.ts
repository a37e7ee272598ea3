/** Sessions that hold everything that a store can hold, made by the library. Each scenario ends with a store that is closed. */
import { readdirSync, readFileSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { bytesSources, exportFrom, importInto, type Model, type OpenOptions, type Session, type Store, Worker } from '../../src/index.ts'
import { diskWith } from '../damage/disk-with.ts'
import type { Directory } from '../store/directory.ts'

export type Scenario = (directory: Directory, options: OpenOptions) => Promise<void>

/** Small, so that a few messages fill several segments. */
const LIMITS = { segmentBytes: 1500, reserveBytes: 0 }

const MODEL: Model = {
  name: 'scenario',
  inputTokens: 10_000,
  summarise: async ({ messages }) => ({
    abstract: `About ${messages[0]?.id}`,
    overview: `# Overview\nOf ${messages.length} messages`,
    memories: [{ key: 'town', category: 'fact', text: `Lives in ${messages[0]?.id}.`, sources: [messages[0]?.id ?? ''] }],
    usage: { inputTokens: 7, outputTokens: 3 },
  }),
}

function said(id: string, content = `Said as ${id}. Ⓐ “quoted” \u2028 é`): object {
  return { id, role: 'user', content }
}

async function withStore(directory: Directory, options: OpenOptions, work: (store: Store) => Promise<void>): Promise<void> {
  const store = await directory.open({ limits: LIMITS, ...options })
  await work(store)
  await store.close()
}

/** Runs, reverts, snapshots, edits, entries, usage, shares, keys: all that one session can do. */
async function converse(store: Store, id = 'talk'): Promise<Session<object>> {
  const session = await store.create<object>({
    id,
    title: 'A talk',
    owner: 'ann',
    workspace: '/home/ann',
    metadata: { team: 'blue', gone: 1 },
  })
  await session.append(said('m1'), { key: 'first' })
  await session.append([said('m2'), { role: 'assistant', content: 'No id of its own.' }, said('m3')])
  await session.append({ role: 'assistant', content: [{ type: 'text', text: 'Made id' }] }, { ids: 'new' })
  await session.snapshot('looked', { key: 'snapshot' })
  await session.append(said('m4'), { entries: [{ channel: 'notes', key: 'beside', value: 1 }] })
  await session.revert({ message: 'm2' })
  await session.append([said('m5'), said('m6')])
  await session.append(said('m7'), { parent: 'm5' })
  await session.revert({ snapshot: 'looked' })
  await session.undo()
  await session.replace('m1', { role: 'user', content: 'First edit' })
  await session.replace('m1', { role: 'user', content: 'Second edit' })
  await session.replace('m7', { role: 'user', content: 'Edit on another branch' })
  await session.describe({
    title: null,
    addTags: ['refund', 'late'],
    metadata: { done: true, gone: null },
    policies: { commit: { at: 3 } },
  })
  await session.describe({ removeTags: ['late'], title: 'Late parcel', owner: 'bob', workspace: null })
  for (const key of ['a', 'b', 'a']) await session.putEntries([{ channel: 'state', key, value: { key } }])
  await session.putEntries([{ channel: 'state', key: 'b' }])
  await session.recordUsage({ model: 'large', inputTokens: 10, outputTokens: 20 })
  await session.recordUsage({ model: 'small', inputTokens: 1, outputTokens: 2 })
  await session.recordUsage({ model: 'large', inputTokens: 5, outputTokens: 5 })
  const { share } = await session.share()
  await session.share({ expiresAt: new Date('2030-01-01'), redact: true })
  await session.unshare(share)
  return session
}

async function family(store: Store): Promise<void> {
  const parent = await converse(store, 'parent')
  const fork = await parent.fork({ id: 'fork', at: 'm5', title: 'A fork' })
  await parent.replace('m2', { role: 'user', content: 'Edited after the fork: the fork does not see it' })
  await fork.replace('m1', { role: 'user', content: 'Edited in the fork' })
  await fork.append([said('f1'), said('f2')])
  const grandchild = await fork.fork({ id: 'fork of a fork' })
  await grandchild.append(said('g1'))
  await grandchild.revert({ message: 'm2' })
  await grandchild.append(said('g2'))
  await (await parent.child({ id: 'child' })).append(said('s1'))
  await (await parent.fork({ id: 'empty fork' })).describe({ title: 'Nothing of its own' })
  // A grant that is taken back, because the id is in use.
  await store.create<object>({ id: 'in use' })
  await parent.fork({ id: 'in use' }).catch(() => undefined)
}

async function archives(store: Store): Promise<void> {
  const session = await store.create<object>({ id: 'archives', owner: 'ann' })
  const worker = (model: Model = MODEL) => new Worker(store, { model, attempts: 1 }).drain()
  for (let i = 0; i < 4; i++) await session.append([said(`a${i}`), said(`b${i}`)])
  await session.commit({ keep: 2 })
  await worker()
  await session.append(said('c'))
  await session.commit()
  await worker()
  await session.retractMemories(2)
  await session.append(said('d'))
  await session.commit()
  await worker({ ...MODEL, summarise: () => Promise.reject(new Error('The model is broken.')) })
  await session.append(said('e'))
  const cancelled = await session.commit()
  if (cancelled.status === 'accepted') await cancelled.task.cancel()
  // A revert into the first archive: another one covers what is left of it.
  await session.revert({ message: 'a1' })
  await session.append(said('f'))
  await session.commit()
  const fork = await session.fork({ id: 'fork of archives' })
  await session.append(said('live'))
  await fork.append(said('in the fork'))
  await worker()
  await fork.commit()
}

async function erasures(store: Store): Promise<void> {
  const session = await store.create<object>({ id: 'erased', owner: 'ann' })
  await session.append([said('e1'), said('e2'), said('e3')], { key: 'batch' })
  await session.append(said('e4'))
  await session.replace('e4', { role: 'user', content: 'My number is 555-0123' })
  await session.commit()
  await new Worker(store, { model: MODEL }).drain()
  const fork = await session.fork({ id: 'fork of erased' })
  await fork.replace('e2', { role: 'user', content: 'Edited in the fork, and erased with the original' })
  await session.erase('e2')
  await session.erase('e4')
  await session.append(said('e5'))
  await new Worker(store, { model: MODEL }).drain()
  // Too short for the marker of an erased message, if it was encrypted on its own.
  const short = store.session<object>('short')
  await short.append([{ a: 1 }, { b: 2 }, { c: 3 }], { ids: ['s1', 's2', 's3'] })
  await short.erase('s2')
  // The time of an archive is over: its messages are erased, and its summary stays.
  const expired = await store.create<object>({ id: 'expired', owner: 'ann' })
  await expired.append([said('x1'), said('x2')])
  await expired.commit()
  await new Worker(store, { model: MODEL }).drain()
  await expired.append(said('x3'))
  for await (const _ of store.expire({ dropArchivesAfterMs: 0 }));
}

async function removals(store: Store): Promise<void> {
  for (const id of ['deleted', 'restored', 'anew', 'anew with fork']) {
    const session = store.session<object>(id)
    await session.append([said('r1'), said('r2')])
    if (id === 'anew with fork') await session.fork({ id: 'kept fork', at: 'r1' })
    if (id === 'anew with fork') await session.replace('r1', { role: 'user', content: 'Edited after the fork' })
    await session.delete()
    if (id === 'restored') await session.restore()
    if (!id.startsWith('anew')) continue
    const anew = await store.create<object>({ id, title: 'Anew' })
    await anew.append([said('r1', 'The same id, in another incarnation'), said('r3')])
    // Neither is seen by a fork of the incarnation before.
    if (id === 'anew with fork') await anew.replace('r3', { role: 'user', content: 'Edited in another incarnation' })
    if (id === 'anew with fork') await anew.erase('r1')
  }
  const purged = store.session<object>('purged')
  await purged.append(said('p1'))
  await purged.delete()
  // Also the former incarnation of `anew`; a fork keeps that of `anew with fork`.
  for await (const _ of store.purge({ olderThanMs: 0 }));
}

const TIME = '2026-01-02T03:04:05.678Z'

/** A store that was exported and imported again: times, usage and archives that come from elsewhere. */
const imported: Scenario = async (directory, options) => {
  let exported = ''
  await withStore(directory, options, async (store) => {
    await archives(store)
    await converse(store)
    for await (const piece of exportFrom(store)) exported += piece
  })
  await directory.empty()
  await withStore(directory, options, async (store) => {
    const reply = { role: 'assistant', id: 'reply', model: 'claude', content: 'Hi.', usage: { input_tokens: 10, output_tokens: 5 } }
    const lines = [
      { type: 'user', message: { role: 'user', content: 'Hello.' } },
      { type: 'assistant', message: reply },
    ].map((line, i) => ({ ...line, uuid: `u${i}`, parentUuid: i === 0 ? null : `u${i - 1}`, sessionId: 'from-claude', timestamp: TIME }))
    for (const [name, text] of [
      ['export.jsonl', exported],
      ['from-claude.jsonl', lines.map((line) => JSON.stringify(line)).join('\n')],
    ] as const)
      for await (const source of bytesSources(name, Buffer.from(text))) for await (const _ of importInto(store, [source]));
    await store.session<object>('talk').append(said('after the import'))
  })
}

/** Syncs that fail: the next segment carries what they may have lost. */
async function failSyncs(directory: Directory, options: OpenOptions): Promise<void> {
  let failures = 0
  const disk = diskWith({ syncDirectory: async () => undefined }, (path) => ({
    sync: async () => {
      if (path.endsWith('.jsonl') && path.includes('carried') && failures-- > 0) throw Object.assign(new Error('EIO'), { code: 'EIO' })
    },
  }))
  const store = await directory.open({ limits: LIMITS, ...options, disk })
  const session = store.session<object>('carried')
  await session.append(said('c1'))
  for (const [count, id] of [
    [1, 'c2'],
    [3, 'c3'],
  ] as const) {
    failures = count
    const both = () => Promise.all([session.append(said(id)), session.append(said(`${id}, in the same group`))])
    for (let attempt = 0; attempt < 5; attempt++) await both().catch(() => undefined)
    await session.describe({ title: `After ${id}` })
  }
  await session.append(said('c4'))
  await store.close()
}

/** A power cut takes the lines of each segment whose sync failed. */
const powerCut: Scenario = async (directory, options) => {
  await failSyncs(directory, options)
  for (const { file, offset } of suspects(directory.path)) truncateSync(file, offset)
}

/** Where lines begin that may not be on the disk. */
function suspects(store: string): { readonly file: string; readonly offset: number }[] {
  return segmentsOf(store, 'carried').flatMap((file) => {
    const [, from] = /"type":"segment.sealed","why":"sync failed","from":(\d+)/.exec(readFileSync(file, 'latin1')) ?? []
    const offset = Number(from) - Number(basename(file, '.jsonl'))
    return offset > 0 ? [{ file, offset }] : []
  })
}

/** The checkpoints rot: carried lines count, and the state comes from the lines before. */
const rottenCheckpoints: Scenario = async (directory, options) => {
  await failSyncs(directory, options)
  for (const file of segmentsOf(directory.path, 'carried')) spoil(file, '"type":"checkpoint"')
}

/** Both. Of each group the power cut takes the first line, so that a carried line is met after a later one. */
const both: Scenario = async (directory, options) => {
  await rottenCheckpoints(directory, options)
  for (const { file, offset } of suspects(directory.path)) {
    const bytes = readFileSync(file)
    // After the lead-in.
    writeFileSync(file, bytes.fill(0, offset + 2, bytes.indexOf('\n', offset + 2)))
  }
}

/** And a person accepts it, or the next writer makes a checkpoint of it. */
const bothAccepted: Scenario = async (directory, options) => {
  await both(directory, options)
  await withStore(directory, options, async (store) => void (await store.session<object>('carried').acceptDamage()))
}

const bothContinued: Scenario = async (directory, options) => {
  await both(directory, options)
  await withStore(directory, options, async (store) => {
    for (let i = 0; i < 20; i++) await store.session<object>('carried').append(said(`more ${i}`))
  })
}

const rottenCarriedLine: Scenario = async (directory, options) => {
  await failSyncs(directory, options)
  spoil(segmentsOf(directory.path, 'carried').at(-1) as string, '"messages.appended"')
}

/** One of the two checkpoints after a purge rots; so does the checkpoint after a loss that was accepted. */
const rottenCopies: Scenario = async (directory, options) => {
  await withStore(directory, options, removals)
  spoil(segmentsOf(directory.path, 'anew').at(-1) as string, '"type":"checkpoint"')
  await withStore(directory, options, async (store) => {
    for (const id of ['a', 'b', 'c']) await store.session<object>('cut').append(said(id))
  })
  const [file = ''] = segmentsOf(directory.path, 'cut')
  truncateSync(file, readFileSync(file).lastIndexOf('\n', -2) - 1)
  await withStore(directory, options, async (store) => void (await store.session<object>('cut').acceptDamage()))
  spoil(segmentsOf(directory.path, 'cut').at(-1) as string, '"type":"checkpoint"')
}

const WHOLE_SEGMENT = { ...LIMITS, segmentBytes: 100_000 }

/** Each loses something, in its own way. A person accepts all but the first two. */
const HARMS: Readonly<Record<string, (segments: readonly string[]) => void>> = {
  'the last message': ([file = '']) => spoil(file, '"messages.appended"', 'last'),
  'a message': ([file = '']) => spoil(file, '"messages.appended"', 'second'),
  'a message that is accepted': ([file = '']) => spoil(file, '"messages.appended"', 'second'),
  'the last message before another': ([file = '']) => spoil(file, '"messages.appended"', 'last'),
  'a copy of the title': ([file = '']) => spoil(file, '"session.described"'),
  'zeros in the place of a message': ([file = '']) => fill(file, '"messages.appended"', 0),
  'a blank in the place of a message': ([file = '']) => fill(file, '"messages.appended"', 0x0a),
  'the newline of a message': ([file = '']) => {
    const { bytes, to } = secondLine(file, '"messages.appended"')
    writeFileSync(file, bytes.fill('X', to, to + 1))
  },
  'the end of the file': ([file = '']) => truncateSync(file, readFileSync(file).lastIndexOf('\n', -2) - 1),
  'half of a line': ([file = '']) => truncateSync(file, statSync(file).size - 40),
  'the first segment': ([file = '']) => unlinkSync(file),
  'a segment in the middle': ([, file = '']) => unlinkSync(file),
  'all but a sealed segment': (segments) => {
    for (const file of segments) if (file !== segments[1]) unlinkSync(file)
    spoil(segments[1] as string, '"type":"checkpoint"')
  },
  'who it is': ([file = '']) => {
    for (let copy = 0; copy < 2; copy++) spoil(file, '"session.created"')
  },
}

const damages: Scenario = async (directory, options) => {
  const ids = Object.keys(HARMS)
  for (const [limits, some] of [
    [WHOLE_SEGMENT, ids.filter((id) => !id.includes('segment'))],
    [LIMITS, ids.filter((id) => id.includes('segment'))],
  ] as const) {
    await withStore(directory, { ...options, limits }, async (store) => {
      for (const session of some.map((id) => store.session<object>(id))) {
        const names = limits === LIMITS ? [...Array(20).keys()].map((i) => `x${i}`) : []
        for (const name of ['d1', 'd2', ...names, 'd3']) await session.append(said(name))
        await session.describe({ title: 'Written twice' })
        await session.append([said('d4'), said('d5')])
      }
    })
  }
  for (const [id, harm] of Object.entries(HARMS)) harm(segmentsOf(directory.path, id))
  await withStore(directory, options, async (store) => {
    await store.session<object>('the last message before another').append(said('d6'))
    for (const id of ids.slice(2)) {
      await store.session<object>(id).acceptDamage()
      await store.session<object>(id).append(said('after'))
    }
  })
}

/** Changes one byte of a text, where it is found. */
function spoil(file: string, text: string, which: 'first' | 'second' | 'last' = 'first'): void {
  const bytes = readFileSync(file)
  const first = bytes.indexOf(text)
  const at = { first, second: bytes.indexOf(text, first + 1), last: bytes.lastIndexOf(text) }[which]
  if (at === -1) return
  bytes[at + 1] = 0x58
  writeFileSync(file, bytes)
}

/** Writes over the second line that holds a text. */
function fill(file: string, text: string, byte: number): void {
  const { bytes, from, to } = secondLine(file, text)
  writeFileSync(file, bytes.fill(byte, from, to))
}

function secondLine(file: string, text: string): { bytes: Buffer; from: number; to: number } {
  const bytes = readFileSync(file)
  const at = bytes.indexOf(text, bytes.indexOf(text) + 1)
  return { bytes, from: bytes.lastIndexOf('\n', at) + 1, to: bytes.indexOf('\n', at) }
}

/** The files of a session's segments, the first one first. */
export function segmentsOf(store: string, id: string): string[] {
  const slug = id
    .slice(0, 24)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '-')
  const files = readdirSync(join(store, 'sessions'), { recursive: true, encoding: 'utf8' })
  const own = files.filter((file) => new RegExp(`/${slug}-[0-9a-f]{32}/\\d{16}\\.jsonl$`).test(`/${file}`))
  return own.sort().map((file) => join(store, 'sessions', file))
}

function inOneStore(work: (store: Store) => Promise<unknown>): Scenario {
  return (directory, options) => withStore(directory, options, async (store) => void (await work(store)))
}

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'a conversation with branches, edits, entries and shares': inOneStore((store) => converse(store)),
  'forks, forks of forks, and children': inOneStore(family),
  'archives in every state, and a revert into one': inOneStore(archives),
  'erased messages, and archives whose time is over': inOneStore(erasures),
  'the same in one segment': (directory, options) => withStore(directory, { ...options, limits: WHOLE_SEGMENT }, erasures),
  'deleted, restored, purged and new incarnations': inOneStore(removals),
  'an import': imported,
  'lines that the next segment carries after a failed sync': failSyncs,
  'carried lines, after a power cut took the originals': powerCut,
  'carried lines, after their checkpoints rotted': rottenCheckpoints,
  'carried lines, after both': both,
  'carried lines, after both, and accepted': bothAccepted,
  'carried lines, after both, and continued': bothContinued,
  'a carried line that rotted': rottenCarriedLine,
  'checkpoints of which a copy rotted': rottenCopies,
  'damage, accepted and not': damages,
}
