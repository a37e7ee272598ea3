/**
 * The smallest correct user of an engine: it reads to the end, folds, appends where it has read up to, and tries again when another
 * was first. It believes what an append says about itself and checks it against what it then reads.
 */
import assert from 'node:assert/strict'
import { type Counted, JournalFold } from '../../record/fold.ts'
import { encodeCheckpoint, LEAD_IN, type Line } from '../../record/line.ts'
import type { Draft, SealReason } from '../../record/record.ts'
import type { Journal } from '../port.ts'
import { draft, groupAt } from './records.ts'

const NEWLINE = Buffer.from('\n')
const ATTEMPTS = 2_000

export class Writer {
  readonly journal: Journal
  readonly fold = new JournalFold(0)
  /** What counts, as far as this writer has read. */
  readonly counted: Counted[] = []
  /** The append point, as far as this writer has read. */
  end = 0
  #next = 0
  /** Counted lines of the current segment: a roll may have to carry them. */
  #lines: Line[] = []
  #ids = new Set<string>()

  constructor(journal: Journal) {
    this.journal = journal
  }

  /** First position of the segment that is written to. */
  get segment(): number {
    return this.fold.segment
  }

  /** Reads to the end of the current segment. */
  async catchUp(): Promise<void> {
    for (;;) {
      const chunk = await this.journal.read(this.segment, this.#next)
      if (chunk === undefined) {
        assert.equal(this.segment, 0, `the segment at ${this.segment} was made and must be there`)
        return
      }
      for (const line of chunk.lines) {
        const verdict = this.fold.judge(line)
        if (verdict.kind !== 'counted') continue
        this.counted.push(verdict)
        this.#ids.add(verdict.record.id)
        this.#lines.push(line)
      }
      const from = this.#next
      this.#next = chunk.next
      this.end = chunk.end
      if (chunk.lines.length === 0 || chunk.next >= chunk.end) return
      assert.ok(chunk.next > from, `a read from ${from} that returned lines must go on behind it, not at ${chunk.next}`)
    }
  }

  /** Gets these records into the journal, each of them once, and returns where they count. */
  async append(...records: Draft[]): Promise<Counted[]> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      await this.catchUp()
      const missing = records.filter(({ id }) => !this.#ids.has(id))
      if (missing.length === 0) {
        return records.map(({ id }) => this.counted.find(({ record }) => record.id === id) as Counted)
      }
      if (this.fold.seal !== undefined) {
        await this.roll()
        continue
      }
      const { bytes, places } = groupAt(this.end, this.fold.prev, ...missing)
      const at = this.end
      const { moved, placed, refusal } = await this.journal.append(this.segment, at, bytes)
      if (refusal !== undefined) throw refusal
      await this.catchUp()
      for (const [index, { id }] of missing.entries()) {
        const inside = !moved && (places[index]?.end ?? 0) <= at + placed
        assert.equal(this.#ids.has(id), inside, `append said that ${placed} bytes are in place, moved: ${moved}; what counts must agree`)
      }
    }
    assert.fail(`A writer lost ${ATTEMPTS} races in a row.`)
  }

  /** Ends the segment and returns the position where the next one begins. */
  async seal(why: SealReason = 'size', from?: number): Promise<number> {
    const [seal] = await this.append(draft('segment.sealed', from === undefined ? { why } : { why, from }))
    return seal?.end ?? 0
  }

  /** What every helper of the roll hands in: it depends on nothing but what counts. */
  preamble(): Buffer {
    const { seal, lastId, lastAt, prev } = this.fold
    assert.ok(seal, 'only a sealed segment has a successor')
    const carried = this.#lines.filter(({ at }) => at >= (seal.from ?? Number.POSITIVE_INFINITY))
    const state = { counted: this.counted.length }
    const checkpoint = encodeCheckpoint({ base: seal.end, id: lastId, at: lastAt, prev, carries: carried.length, state })
    return Buffer.concat([LEAD_IN, checkpoint, ...carried.flatMap(({ bytes }) => [bytes, NEWLINE])])
  }

  /** Makes the next segment, or finds it made, and goes on in it. */
  async roll(): Promise<number> {
    const preamble = this.preamble()
    const first = this.fold.seal?.end ?? 0
    await this.journal.roll(first, preamble)
    this.fold.enter(first)
    this.#lines = []
    this.#next = first
    this.end = first
    await this.catchUp()
    assert.ok(this.fold.ready, 'a segment must have its preamble once the roll has returned')
    return first
  }

  /** Seals and rolls in one go. */
  async next(): Promise<number> {
    await this.seal()
    return this.roll()
  }
}
