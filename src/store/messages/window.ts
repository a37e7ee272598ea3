/** The window of a session: reads what may be part of it, newest first, and never more than the budget can hold. */
import { convert, FORMATS } from '../../message/formats.ts'
import { viewOf } from '../../message/message.ts'
import type { Format, FormatMessages, Message } from '../../message/shapes.ts'
import { estimateTokens } from '../../message/tokens.ts'
import type { JsonObject } from '../../record/record.ts'
import { archivedOf, branchTo, count, isWhole, merged, PAST, without } from '../../session/branch.ts'
import { checkCount, checkTexts, invalid, shown } from '../../session/check.ts'
import { withoutRepeated } from '../../session/damaged-places.ts'
import type { Archive, SessionState, Stretch } from '../../session/state.ts'
import { assemble, type LeftOut, type Recalled, type Summary } from '../../window/assemble.ts'
import { isSpoken, lastTurn, type Turn } from '../../window/turns.ts'
import type { Item, Shown } from '../../window/units.ts'
import type { DamagedPlace } from '../damage/damage.ts'
import { archiveInfo } from '../tasks.ts'
import type { Gap } from './depth-gaps.ts'
import type { KeptMessage } from './stored-message.ts'
import type { Transcript } from './transcript.ts'

export interface WindowOptions<F extends Format | undefined = Format | undefined> {
  /** The largest number of tokens. Defaults to 128,000. */
  readonly budget?: number
  /** The shape of the messages. Defaults to the messages as you appended them. */
  readonly format?: F
  /** Words: adds the memories and older messages that match, within a part of the budget. Defaults to none. */
  readonly recall?: string
  /** Counts the tokens of a text. Defaults to an estimate. */
  readonly countTokens?: (text: string) => number
}

export interface Window<M extends object = Message> {
  /** The newest summary of what came before; null if there is none, or no room for it. */
  readonly overview: string | null
  /** One line for each older archive that there was room for, oldest first. */
  readonly abstracts: readonly { readonly archive: number; readonly abstract: string }[]
  readonly recalled: readonly Recalled[]
  /** The messages to send, oldest first: in the shape of the format, or as they were appended. The array is yours. */
  readonly messages: M[]
  /** Which message each of them is, and when it was appended; null for one that was made up. None with a `format`: shapes may merge. */
  readonly origins: readonly ({ readonly id: string; readonly at: string } | null)[]
  readonly tokens: number
  readonly leftOut: readonly LeftOut[]
  /** What cannot be read of what the window would show. What lies further back than the budget reaches is not read. */
  readonly damage: readonly DamagedPlace[]
  readonly stats: {
    readonly totalArchives: number
    readonly includedArchives: number
    readonly droppedArchives: number
    readonly failedArchives: number
    readonly activeTokens: number
    readonly archiveTokens: number
  }
}

/** How far the last turn came, and what cannot be read of it. */
export interface LastTurn extends Turn {
  readonly damage: readonly DamagedPlace[]
}

/** Lines about the past beyond this many help nobody. */
const ABSTRACTS = 50
/** Of a turn that is longer only the end is looked at. */
const TURN_MESSAGES = 10_000
/** How far back the call of a result is looked for: it may never have been here. */
const ORPHAN_SEARCH = 100

export async function windowOf(
  session: string,
  state: SessionState,
  transcript: Transcript,
  recallFrom: (query: string, archives: readonly Archive[]) => Promise<readonly Recalled[]>,
  { budget = 128_000, format, recall, countTokens: counter }: WindowOptions,
): Promise<Window<JsonObject | FormatMessages[Format]>> {
  const countTokens = counter === undefined ? estimateTokens : checkedCounter(counter)
  checkTexts({ recall })
  checkCount('The budget', budget, Number.MAX_SAFE_INTEGER)
  if (format !== undefined && !FORMATS.includes(format)) throw invalid(`The format must be one of ${FORMATS.join(', ')}.`)
  const branch = branchTo(state, state.head)
  const summarised = state.archives.filter((archive) => archive.status === 'completed' && (!state.cut || isWhole(archive, branch)))
  const summaries = await summariesOf(session, summarised, transcript)
  const good = summarised.filter(({ number }) => summaries.all.has(number))
  const leads = (): ReturnType<typeof leadingOf> => leadingOf(branch, transcript, countTokens)
  const [recent, first] = await Promise.all([
    recentOf(without(branch, merged(archivedOf(good))), transcript, { budget, countTokens }),
    good.length > 0 ? leads() : undefined,
  ])
  const leading = first ?? (recent.older > 0 ? await leads() : undefined)
  const recalled = recall === undefined ? [] : await recallFrom(recall, good)
  // Instructions that an archive holds, or that lie too far back, are in force all the same.
  const isNews = leading?.item !== undefined && leading.item.id !== recent.items[0]?.id
  const items = isNews ? [leading.item as Item, ...recent.items] : recent.items
  const summed = isNews && good.some(({ number }) => number === leading.archive)
  const older = Math.max(0, recent.older - (isNews && !summed ? 1 : 0))
  const window = assemble({ budget, items, older, summaries: summaries.shown, overview: summaries.overview, recalled, countTokens })
  const included = window.abstracts.length + (window.overview === null ? 0 : 1)
  const gaps = withoutRepeated(await transcript.damageOf([...recent.gaps, ...(leading?.gaps ?? [])], recent.from))
  const damage = withoutRepeated([...gaps, ...(await transcript.damagedRecords(summaries.lost.map(summaryPlace)))])
  return {
    overview: window.overview,
    abstracts: window.abstracts,
    recalled: window.recalled,
    messages: format === undefined ? window.messages.map(({ message }) => message) : convert(format, window.messages),
    origins: format === undefined ? originsOf(window.messages, items) : [],
    tokens: window.tokens,
    leftOut: [...window.leftOut, ...leftOutBy(gaps, summaries.lost)],
    damage,
    stats: {
      totalArchives: state.archives.length,
      includedArchives: included,
      droppedArchives: good.length - included,
      failedArchives: state.archives.filter(({ status }) => status === 'failed').length,
      activeTokens: window.messageTokens,
      archiveTokens: window.tokens - window.messageTokens,
    },
  }
}

/** A count that is no number would let any number of messages into the window. */
function checkedCounter(countTokens: (text: string) => unknown): (text: string) => number {
  return (text) => {
    const tokens = countTokens(text)
    if (typeof tokens === 'number' && tokens >= 0 && Number.isFinite(tokens)) return tokens
    throw invalid(`\`countTokens\` must return a number from 0 on, and not a promise; it returned ${shown(tokens)}.`)
  }
}

/** A message that was divided or completed for the window has the id of the one that it was. */
function originsOf(shown: readonly Shown[], items: readonly Item[]): Window['origins'] {
  const times = new Map(items.map(({ id, at = '' }) => [id, at]))
  return shown.map(({ id, synthetic }) => (synthetic ? null : { id, at: times.get(id) ?? '' }))
}

/** The last turn, read from the newest message backwards to where it begins. */
export async function turnOf(state: SessionState, transcript: Transcript): Promise<LastTurn> {
  const items: Item[] = []
  const gaps: Gap[] = []
  let from = -1
  for await (const { stored, point } of transcript.newestPlaced(branchTo(state, state.head), (gap) => gaps.push(gap))) {
    const item = itemOf(stored, () => 0)
    items.push(item)
    if (!isSpoken(item.view) && items.length < TURN_MESSAGES) continue
    from = point.at?.[0] ?? -1
    break
  }
  return { ...lastTurn(items.reverse()), damage: await transcript.damageOf(gaps, from) }
}

/** What is missing in a window because it cannot be read. */
function leftOutBy(damage: readonly DamagedPlace[], summaries: readonly Archive[]): LeftOut[] {
  const known = damage.reduce((sum, { count: lost }) => sum + (lost ?? 0), 0)
  return [
    ...(known === 0 ? [] : [{ kind: 'messages', count: known, reason: 'damaged' } as const]),
    ...(damage.some(({ count: lost }) => lost === null) ? [{ kind: 'messages', count: null, reason: 'damaged' } as const] : []),
    ...summaries.map(({ number }) => ({ kind: 'abstract', id: String(number), reason: 'damaged' }) as const),
  ]
}

function summaryPlace({ session, ended, at }: Archive): { session: string | null; position: number } {
  return { session, position: ended ?? at }
}

/** Summaries that can be read: of one that rotted, the messages are shown themselves. */
async function summariesOf(
  session: string,
  archives: readonly Archive[],
  transcript: Transcript,
): Promise<{ shown: Summary[]; overview: string | undefined; all: Set<number>; lost: readonly Archive[] }> {
  const all = new Set(archives.map(({ number }) => number))
  const shown: Summary[] = []
  let overview: string | undefined
  let older = archives.length
  while (overview === undefined && older > 0) {
    const archive = archives[--older] as Archive
    const cached = known.get(archive)
    const summary = cached?.overview === undefined ? await summaryOf(session, archive, transcript) : cached
    if (summary === undefined) {
      all.delete(archive.number)
      continue
    }
    overview = summary.overview
    shown.push({ archive: archive.number, abstract: summary.abstract })
    if (archive.session === null) known.set(archive, summary)
    forgetOverview(archives[older - 1])
  }
  // Side by side: they lie anywhere in the journal.
  const earlier = await Promise.all(
    archives.slice(Math.max(0, older - ABSTRACTS), older).map(async (archive) => {
      return { archive: archive.number, abstract: await abstractOf(session, archive, transcript) }
    }),
  )
  for (const { archive, abstract } of earlier.reverse()) {
    if (abstract === null) all.delete(archive)
    else shown.unshift({ archive, abstract })
  }
  return { shown, overview, all, lost: archives.filter(({ number }) => !all.has(number)) }
}

/** An archive of which something changes, because it is summarised anew or a message in it was erased, is another object from then on. */
const known = new WeakMap<Archive, { readonly abstract: string; readonly overview?: string }>()

/** What the last archive tells is asked for again and again; what the one before it told, no more. */
function forgetOverview(archive: Archive | undefined): void {
  const { abstract } = (archive === undefined ? undefined : known.get(archive)) ?? {}
  if (archive !== undefined && abstract !== undefined) known.set(archive, { abstract })
}

/** Read once, but for the archives that a fork inherits: what becomes of those is told in another journal. */
async function abstractOf(session: string, archive: Archive, transcript: Transcript): Promise<string | null> {
  const before = known.get(archive)
  if (before !== undefined) return before.abstract
  const summary = await summaryOf(session, archive, transcript)
  if (summary === undefined) return null
  if (archive.session === null) known.set(archive, { abstract: summary.abstract })
  return summary.abstract
}

/** Undefined if it cannot be read. */
async function summaryOf(
  session: string,
  archive: Archive,
  transcript: Transcript,
): Promise<{ readonly abstract: string; readonly overview: string } | undefined> {
  const { abstract, overview } = await archiveInfo(session, archive, transcript)
  return abstract === null || overview === null ? undefined : { abstract, overview }
}

interface Recent {
  readonly items: readonly Item[]
  /** How many messages lie before the first of these, as far as is known. */
  readonly older: number
  /** What cannot be read between these, and after them. */
  readonly gaps: readonly Gap[]
  /** The position of the first of these, or of the stretch that they begin with. */
  readonly from: number
}

/** The newest messages of some stretches: a few more than the budget can hold, back to the newest of the user. */
async function recentOf(
  stretches: readonly Stretch[],
  transcript: Transcript,
  { budget, countTokens }: { budget: number; countTokens: (text: string) => number },
): Promise<Recent> {
  const items: Item[] = []
  const uncalled = new Set<string>()
  const gaps: Gap[] = []
  const [oldest] = stretches
  let from = oldest === undefined || oldest.run === PAST || oldest.from === 0 ? -1 : oldest.first - 1
  let [tokens, beyond, hasUser] = [0, 0, false]
  for await (const { stored, point } of transcript.newestPlaced(stretches, (gap) => gaps.push(gap))) {
    const item = itemOf(stored, countTokens)
    items.push(item)
    tokens += item.tokens
    hasUser ||= isSpoken(item.view)
    for (const { id } of item.view.results) uncalled.add(id)
    for (const { id } of item.view.calls) uncalled.delete(id)
    if (tokens <= budget) continue
    // A result whose call was merely not read must not pass for an orphan.
    if (!hasUser || (uncalled.size > 0 && beyond++ < ORPHAN_SEARCH)) continue
    from = point.at?.[0] ?? -1
    break
  }
  const lost = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0)
  return { items: items.reverse(), older: Math.max(0, count(stretches) - items.length - lost), gaps, from }
}

/** The instructions that the conversation begins with, if it does, the archive that holds them, and what cannot be read in their place. */
async function leadingOf(
  branch: readonly Stretch[],
  transcript: Transcript,
  countTokens: (text: string) => number,
): Promise<{ item: Item | undefined; archive: number | null; gaps: readonly Gap[] }> {
  const gaps: Gap[] = []
  for await (const message of transcript.oldestFirst(branch.slice(0, 1), (gap) => gaps.push(gap))) {
    const item = itemOf(message, countTokens)
    const isLeading = message.depth === 1 && item.view.role === 'system'
    return { item: isLeading ? item : undefined, archive: message.archive, gaps }
  }
  return { item: undefined, archive: null, gaps }
}

function itemOf({ id, at, message }: KeptMessage, countTokens: (text: string) => number): Item {
  return { id, at, message, view: viewOf(message), tokens: countTokens(JSON.stringify(message)) }
}
