/** What damage does to a journal, held against what it must not do. Each finding is a sentence; there must be none. */
import type { Journal } from '../../src/engine/port.ts'
import type { Files } from './bytes-journal.ts'
import { describeVerdict, type JudgedLine, judge, keyOf, type Left, type Original } from './original.ts'
import { makeReplica, write } from './sample.ts'

/** Where a flipped bit is not reported, by design. */
type Unreported = 'the last newline of the journal' | 'behind a seal'

export interface Survey {
  /** A line that was not hit is judged otherwise than before. */
  readonly changed: string[]
  /** A line counts that nobody wrote there. */
  readonly forged: string[]
  /** Damage without a report, or a report without damage. */
  readonly misreported: string[]
  readonly unreported: Record<Unreported, number>
}

/** Flips every bit of every file, one at a time, and judges what is left. */
export function surveyBits(original: Original): Survey {
  const survey: Survey = {
    changed: [],
    forged: [],
    misreported: [],
    unreported: { 'the last newline of the journal': 0, 'behind a seal': 0 },
  }
  for (const { segment, at, bit } of original.everyBit()) {
    const what = `bit ${bit} of byte ${at}`
    const hit = original.hitBy(segment, at)
    const judged = judge(original.flipped(segment, at, bit))
    survey.changed.push(...changed(original.left(hit), judged).map((finding) => `${what}: ${finding}`))
    survey.forged.push(...forged(original, judged).map((finding) => `${what}: ${finding}`))
    const damage = judged.filter(({ verdict }) => verdict.kind === 'damage')
    const elsewhere = damage.filter(
      (one) => ![...hit].some((line) => line.segment === one.segment && line.at <= one.at && one.at <= line.at + line.bytes.length),
    )
    const before = original.lines.filter((line) => line.verdict.kind === 'damage' && !hit.has(line))
    if (elsewhere.length !== before.length)
      survey.misreported.push(`${what}: ${elsewhere.length - before.length} damages too many elsewhere`)
    if (damage.some((one) => covers(one, segment, at))) continue
    const where = excuseFor(original, segment, at)
    if (where === undefined) survey.misreported.push(`${what} is not reported`)
    else survey.unreported[where]++
  }
  return survey
}

/** Compares verdicts line by line. What is left of a hit line may be in two pieces, since a flipped bit can make a newline. */
export function changed(left: Left, judged: readonly JudgedLine[]): string[] {
  const findings: string[] = []
  const missing = new Map(left.verdicts)
  for (const line of judged) {
    const verdict = describeVerdict(line.verdict)
    const expected = missing.get(keyOf(line))
    missing.delete(keyOf(line))
    const right = expected === undefined ? verdict === 'damage' || verdict === 'outside' : verdict === expected
    if (!right) findings.push(`${line.at} is ${verdict}, not ${expected ?? 'damage'}`)
  }
  if (missing.size > 0) findings.push(`lines are gone that were not hit: ${[...missing.values()].join(', ')}`)
  return findings
}

/** Everything that counts must have been written, byte by byte, at its place. */
export function forged(original: Original, judged: readonly JudgedLine[]): string[] {
  return judged
    .filter(({ verdict }) => verdict.kind === 'counted' || verdict.kind === 'checkpoint')
    .filter((line) => Buffer.compare(original.lineAt(line)?.bytes ?? Buffer.of(), line.bytes) !== 0)
    .map(({ bytes }) => Buffer.from(bytes).toString())
}

/** Whether a damage that was reported covers a byte. The newline belongs to its line. */
export function covers({ segment, verdict }: JudgedLine, inSegment: number, at: number): boolean {
  return verdict.kind === 'damage' && segment === inSegment && verdict.at <= at && at <= verdict.at + verdict.length
}

/** The end of a segment that was cut off must be reported, up to its successor, unless no record is left in front of the cut. */
export function misreportedCut(original: Original, segment: number, length: number, judged: readonly JudgedLine[]): string[] {
  const successor = original.successorOf(segment)
  const begun = judged.some((line) => line.segment <= segment && line.verdict.kind === 'counted' && !line.verdict.carried)
  const expected = begun && segment + length < successor && successor < Number.POSITIVE_INFINITY
  const reported = judged.some(
    (line) =>
      covers(line, segment, segment + length) && line.verdict.kind === 'damage' && line.verdict.at + line.verdict.length === successor,
  )
  return expected === reported ? [] : [`the missing end is ${expected ? 'not ' : ''}reported`]
}

function excuseFor(original: Original, segment: number, at: number): Unreported | undefined {
  const [line] = original.hitBy(segment, at)
  if (line?.verdict.kind === 'nothing' && line.verdict.why === 'outside') return 'behind a seal'
  const isLast = segment === original.last && at === segment + (original.files.get(segment)?.length ?? 0) - 1
  return isLast ? 'the last newline of the journal' : undefined
}

/** Reads a damaged journal, writes to it, and reads it again, each time as a new process. */
export async function readAndWrite(
  left: Left,
  open: () => Journal,
  contents: () => Promise<Files>,
): Promise<{ findings: string[]; after: JudgedLine[] }> {
  const findings: string[] = []
  const { state } = await makeReplica(open(), 'reader').read()
  if (JSON.stringify(state) !== JSON.stringify(left.state)) findings.push(`the state is ${state.records}, not ${left.state.records}`)
  const writer = makeReplica(open(), 'writer')
  const position = await writer.submit(write('session.restored'))
  const after = judge(await contents())
  const last = after.findLast(({ verdict }) => verdict.kind === 'counted')
  if (last?.at !== position || !describeVerdict(last.verdict).startsWith('counted writer')) findings.push('what was appended is not there')
  const counted = new Set(after.filter(({ verdict }) => verdict.kind === 'counted').map(keyOf))
  for (const [key, verdict] of left.verdicts)
    if (verdict.startsWith('counted') && !counted.has(key)) findings.push(`the append took ${verdict} away`)
  const again = await makeReplica(open(), 'again').read()
  const expected = [
    ...left.state.records,
    `${last === undefined ? '' : describeVerdict(last.verdict).slice('counted '.length)}@${position}`,
  ]
  if (JSON.stringify(again.state.records) !== JSON.stringify(expected))
    findings.push(`then the state is ${again.state.records}, not ${expected}`)
  return { findings, after }
}
