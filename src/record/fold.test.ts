import { crc32 } from 'node:zlib'
import { beforeEach, describe, expect, test } from 'vitest'
import { countedAt, JournalFold, type Verdict } from './fold.ts'
import { encodeBody, encodeCheckpoint, Group, isBlank, LEAD_IN, splitLines } from './line.ts'
import type { Draft, JsonObject, RecordType } from './record.ts'

const AT = '2026-11-15T09:30:00.123Z'

function draft(id: string, type: RecordType = 'messages.appended', payload: JsonObject = {}): Draft {
  return { id, at: AT, type, payload }
}

/** The lines of one segment, as they come to stand one behind the other, and what a fold says to each. */
class Page {
  readonly fold: JournalFold
  end: number

  constructor(segment = 0, successor?: number) {
    this.fold = new JournalFold(segment, successor)
    this.end = segment
  }

  /** Bytes as they are. */
  raw(bytes: Uint8Array): string[] {
    const { lines } = splitLines(bytes, this.end)
    this.end += bytes.length
    const verdicts = lines.map((line) => describeVerdict(this.fold.judge(line)))
    return verdicts.filter((_, index) => !isBlank(lines[index]?.bytes ?? Buffer.of()))
  }

  /** Records that stand where they must. */
  put(...drafts: Draft[]): string[] {
    return this.raw(this.group(this.end, ...drafts))
  }

  /** A group for any place. */
  group(at: number, ...drafts: Draft[]): Buffer {
    const group = new Group(at, this.fold.prev)
    for (const one of drafts) group.add(encodeBody(one))
    return group.bytes
  }
}

function describeVerdict(verdict: Verdict): string {
  if (verdict.kind === 'counted') return `counted ${verdict.record.id}${verdict.carried ? ` carried ${verdict.at}` : ''}`
  if (verdict.kind === 'damage') return `damage ${verdict.as} ${verdict.at}+${verdict.length}`
  if (verdict.kind === 'checkpoint') return `checkpoint ${verdict.record.id}`
  return verdict.why
}

/** A line with a checksum that fits, whatever it says. */
function sealed(text: string): Buffer {
  return Buffer.from(`${text},"crc":"${crc32(text).toString(16).padStart(8, '0')}"}\n`)
}

const NEWER = sealed('{"v":3,"type":"from the future"')

let page: Page
beforeEach(() => {
  page = new Page()
})

describe('rule 1: outside of the journal', () => {
  test('is whatever stands behind the first counted seal of a segment', () => {
    page.put(draft('seal', 'segment.sealed', { why: 'size' }))
    expect(page.put(draft('late'), draft('other seal', 'segment.sealed', { why: 'purge' }))).toEqual(['outside', 'outside'])
    expect(page.fold.seal).toMatchObject({ why: 'size' })
  })

  test('is whatever stands at or beyond the first position of the successor, seal or no seal', () => {
    const first = new Page().group(0, draft('a'))
    const bounded = new Page(0, first.length + LEAD_IN.length)
    expect(bounded.raw(first)).toEqual(['counted a'])
    expect(bounded.put(draft('b'))).toEqual(['outside'])
    const oneMore = new Page(0, first.length + LEAD_IN.length + 1)
    oneMore.raw(first)
    expect(oneMore.put(draft('b'))).toEqual(['counted b'])
  })

  test('comes before everything else: nothing behind a seal is looked at', () => {
    page.put(draft('seal', 'segment.sealed', { why: 'size' }))
    expect(page.fold.judge({ at: page.end, bytes: Buffer.of() })).toEqual({ kind: 'nothing', why: 'outside' })
    expect(page.raw(Buffer.from('rot\n'))).toEqual(['outside'])
    expect(page.raw(NEWER)).toEqual(['outside'])
  })

  test('does not follow from a seal that does not count itself', () => {
    const misplaced = page.group(7_000, draft('seal', 'segment.sealed', { why: 'size' }))
    expect(page.raw(misplaced)).toEqual(['misplaced'])
    expect(page.fold.seal).toBeUndefined()
    expect(page.put(draft('a'))).toEqual(['counted a'])
  })

  test('a seal says where the next segment begins, why, and from where on lines may be missing', () => {
    page.put(draft('a'))
    const begins = page.end + LEAD_IN.length
    page.put(draft('seal', 'segment.sealed', { why: 'sync failed', from: 2 }))
    expect(page.fold.seal).toEqual({ at: begins, end: page.end, next: page.end, why: 'sync failed', from: 2 })
  })
})

describe('rule 2: blank lines', () => {
  test('are nothing, wherever they stand', () => {
    const { fold } = page
    for (const [at, text] of ['', ' '].entries()) {
      expect(fold.judge({ at, bytes: Buffer.from(text) })).toEqual({ kind: 'nothing', why: 'blank' })
    }
    expect(page.put(draft('a'))).toEqual(['counted a'])
  })
})

describe('rule 3: what is not intact', () => {
  test('is damage with its place, and has no effect on what stands around it', () => {
    expect(page.put(draft('a'))).toEqual(['counted a'])
    const before = { prev: page.fold.prev, end: page.fold.end, lastId: page.fold.lastId }
    const at = page.end
    expect(page.raw(Buffer.from('{"v":1,"id":"to\n'))).toEqual([`damage rotten ${at}+15`])
    expect({ prev: page.fold.prev, end: page.fold.end, lastId: page.fold.lastId }).toEqual(before)
    expect(page.put(draft('b'))).toEqual(['counted b'])
  })

  test('is a fragment, once the lead-in of the next writer has ended and spoiled it', () => {
    const whole = page.group(page.end, draft('torn'))
    const fragment = whole.subarray(0, -1)
    page.raw(fragment)
    const verdicts = page.raw(page.group(fragment.length, draft('next')))
    // The lead-in's space stands at the end of the fragment, so a line that lacks nothing but its newline stays refused.
    expect(verdicts).toEqual(['counted next'])
    const both = new Page()
    expect(both.raw(Buffer.concat([fragment, page.group(fragment.length, draft('next'))]))).toEqual([
      `damage torn 2+${fragment.length - 1}`,
      'counted next',
    ])
  })

  test('is torn if it is the rest of a line that several processes carried, and one copy of that line is intact', () => {
    const carried = page.group(50, draft('carried'))
    const rest = carried.subarray(40)
    const next = new Page(5_000)
    next.raw(encodeCheckpoint({ id: 'k', at: AT, base: 5_000, carries: 1, state: {}, prev: '' }))
    const before = next.end
    expect(next.raw(rest)).toEqual([`damage rotten ${before}+${rest.length - 1}`])
    expect(next.raw(carried)).toEqual(['counted carried carried 52'])
    const after = next.end
    expect(next.raw(rest)).toEqual([`damage torn ${after}+${rest.length - 1}`])
    const other = Buffer.from(rest.toString().replace(/"pos":\d+/, '"pos":53'))
    expect(next.raw(other)).toEqual([`damage rotten ${after + rest.length}+${other.length - 1}`])
  })

  test('comes before the version: a rotten line of the future is only rotten', () => {
    const rotten = Buffer.from(NEWER)
    rotten[10] = (rotten[10] as number) ^ 1
    expect(page.raw(rotten)).toEqual([`damage rotten 0+${NEWER.length - 1}`])
  })
})

describe('rule 4: a newer version', () => {
  test('stops the fold, also as a checkpoint, and also in another place than it says', () => {
    const refused = expect.objectContaining({ code: 'UNSUPPORTED_VERSION' })
    expect(() => page.raw(NEWER)).toThrow(refused)
    expect(() => new Page(50).raw(sealed('{"v":3,"type":"checkpoint","base":50'))).toThrow(refused)
    expect(() => new Page().raw(sealed('{"v":4,"id":"x","at":"","type":"messages.appended","pos":99'))).toThrow(refused)
  })
})

describe('rule 7: a line that is not where it says', () => {
  test.each([-1, 1, 5_000])('is a lost race if it is off by %i, has no effect and is no damage', (off) => {
    page.put(draft('a'))
    const { prev } = page.fold
    expect(page.raw(page.group(page.end + off, draft('lost')))).toEqual(['misplaced'])
    expect(page.fold.prev).toBe(prev)
    expect(page.put(draft('lost'))).toEqual(['counted lost'])
  })

  test('costs every record of its group, in both copies', () => {
    page.put(draft('a'))
    const lost = page.group(0, draft('x'), draft('y', 'session.deleted'), draft('z'))
    expect(page.raw(lost)).toEqual(['misplaced', 'misplaced', 'misplaced', 'misplaced'])
    expect(page.fold).toMatchObject({ lastId: 'a' })
  })
})

describe('rule 8: an id that counted in this segment', () => {
  test('is the second copy and has no effect', () => {
    expect(page.put(draft('c', 'session.created'))).toEqual(['counted c', 'repeated'])
    expect(page.put(draft('c'))).toEqual(['repeated'])
  })

  test('counts by its second copy where the first is rotten, at the place of the second', () => {
    const bytes = page.group(0, draft('d', 'session.deleted'))
    bytes[20] = (bytes[20] as number) ^ 4
    const second = bytes.indexOf(0x0a, 3) + 1
    expect(page.raw(bytes)).toEqual([`damage rotten 2+${second - 3}`, 'counted d'])
    expect(page.fold).toMatchObject({ lastId: 'd', end: bytes.length })
  })

  test('may count again in another segment', () => {
    page.put(draft('a'), draft('seal', 'segment.sealed', { why: 'size' }))
    page.fold.enter(page.end)
    expect(page.put(draft('a'))).toEqual(['counted a'])
  })

  test('is not spent by a misplaced line', () => {
    page.raw(page.group(99, draft('a')))
    expect(page.put(draft('a'))).toEqual(['counted a'])
  })
})

describe('rule 9: otherwise it counts', () => {
  test('with its place, its checksum and all its fields', () => {
    const group = new Group(0, '')
    const place = group.add(encodeBody({ ...draft('a', 'messages.appended', { text: 'hello' }), parent: [0, 1] }))
    const [, line] = splitLines(group.bytes, 0).lines
    const verdict = new JournalFold(0).judge(line as { at: number; bytes: Uint8Array })
    expect(verdict).toMatchObject({ kind: 'counted', carried: false, ...place, record: { text: 'hello', parent: [0, 1], pos: 2 } })
  })

  test('and becomes what the next one follows', () => {
    const { fold } = page
    expect(fold).toMatchObject({ prev: '', lastId: '', lastAt: '', end: 0, fresh: true, ready: true, rooted: true })
    page.put(draft('a'))
    expect(fold).toMatchObject({ lastId: 'a', lastAt: AT, end: page.end, fresh: false, prev: expect.stringMatching(/^[0-9a-f]{8}$/) })
  })

  test('also if its type is one that this version does not know', () => {
    expect(page.raw(sealed('{"v":1,"id":"new","at":"","type":"ghost.seen","pos":0'))).toEqual(['counted new'])
    expect(page.fold.lastId).toBe('new')
  })

  test('whatever its conditions, clocks and keys say: those were decided by its writer', () => {
    const odd = { expect: 'nothing like this', key: 'same', ids: ['m1', 'm1'] }
    const old: Draft = { id: 'b', at: '1970-01-01T00:00:00.000Z', type: 'messages.appended', payload: odd }
    expect(page.put(draft('a', 'messages.appended', odd), old)).toEqual(['counted a', 'counted b'])
  })

  test('whatever a record before it says: a delete silences nobody, so the loss of what ended it cannot either', () => {
    const ended = [
      draft('deleted', 'session.deleted'),
      draft('back', 'session.restored'),
      draft('a'),
      draft('again', 'session.deleted'),
      draft('b'),
    ]
    const bytes = page.group(0, ...ended)
    for (let from = bytes.indexOf('"back"'); from !== -1; from = bytes.indexOf('"back"', from)) bytes[from] = 0x20
    const counted = page.raw(bytes).filter((verdict) => verdict.startsWith('counted'))
    expect(counted).toEqual(['counted deleted', 'counted a', 'counted again', 'counted b'])
  })

  test('whatever it says about the record before it: rot must not change the verdict on others', () => {
    const group = new Group(0, 'deadbeef')
    group.add(encodeBody(draft('a')))
    expect(page.raw(group.bytes)).toEqual(['counted a'])
  })
})

describe('what is missing of a segment', () => {
  const records = [draft('a'), draft('seal', 'segment.sealed', { why: 'size' })]
  const whole = new Page().group(0, ...records)
  const read = (bytes: Uint8Array, successor?: number): JournalFold => {
    const cut = new Page(0, successor)
    cut.raw(bytes)
    return cut.fold
  }

  test('is nothing where its seal ends where the next one begins, whatever stands behind it', () => {
    expect(read(whole, whole.length).missing(whole.length)).toBeUndefined()
    expect(read(Buffer.concat([whole, Buffer.from(' \nlate\n')]), whole.length).missing(whole.length + 7)).toBeUndefined()
  })

  test('is what should stand between its last whole line and the next segment', () => {
    const next = whole.lastIndexOf(' \n')
    expect(read(whole.subarray(0, -20), whole.length).missing(next)).toEqual({
      kind: 'damage',
      at: next,
      length: whole.length - next,
      as: 'missing',
    })
  })

  test('are also whole segments behind its seal', () => {
    expect(read(whole, 5_000).missing(whole.length)).toMatchObject({ at: whole.length, length: 5_000 - whole.length })
  })

  test('is not known of the last one, nor in front of the first record, where a late helper may have made a purged one again', () => {
    expect(read(whole.subarray(0, -20)).missing(2)).toBeUndefined()
    expect(read(Buffer.of(), 5_000).missing(0)).toBeUndefined()
    const { fold } = page
    page.put(draft('a'), draft('seal', 'segment.sealed', { why: 'size' }))
    fold.enter(page.end, 5_000)
    expect(fold.missing(page.end)).toMatchObject({ at: page.end })
  })
})

test('a fold that accepts its own records stands where one that reads them stands', () => {
  const writer = new JournalFold(0)
  const group = new Group(0, '')
  const drafts = [draft('c', 'session.created'), draft('a'), draft('d', 'session.deleted'), draft('s', 'segment.sealed', { why: 'purge' })]
  for (const one of drafts) {
    const { prev } = group
    writer.accept(countedAt({ draft: one, place: group.add(encodeBody(one)), prev }))
  }
  page.raw(group.bytes)
  const { seal, prev, lastId, lastAt, end, segment } = page.fold
  expect(writer).toMatchObject({ seal, prev, lastId, lastAt, end, segment })
  expect(seal).toMatchObject({ why: 'purge', end: group.length })
})
