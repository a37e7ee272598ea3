/** Up to which message a commit takes: everything but the last few messages, or the last few turns. */
import { viewOf } from '../../message/message.ts'
import { estimateTokens } from '../../message/tokens.ts'
import { LIMITS } from '../../record/limits.ts'
import type { JsonObject } from '../../record/record.ts'
import { branchTo, without } from '../../session/branch.ts'
import { checkCount, invalid } from '../../session/check.ts'
import type { Point, SessionState } from '../../session/state.ts'
import type { Transcript } from '../messages/transcript.ts'

/** What a commit keeps live. Defaults to nothing. */
export interface KeepOptions {
  /** The number of messages to keep. A tool call and its results stay together, so it may be a few more. Defaults to 0. */
  readonly keep?: number
  /** The number of turns to keep, as far as they fit `tokenBudget`. The newest turn always stays. */
  readonly keepTurns?: number
  /** The largest number of tokens of the turns. Defaults to no limit. */
  readonly tokenBudget?: number
}

export function checkKeepOptions({ keep, keepTurns, tokenBudget }: KeepOptions): KeepOptions {
  if (keep !== undefined && keepTurns !== undefined) throw invalid('Keep either messages or turns, not both.')
  if (tokenBudget !== undefined && keepTurns === undefined) throw invalid('`tokenBudget` goes with `keepTurns`.')
  if (keep !== undefined) checkCount('keep', keep, LIMITS.keptMessages)
  if (keepTurns !== undefined) checkCount('keepTurns', keepTurns, LIMITS.keptMessages)
  if (tokenBudget !== undefined) checkCount('tokenBudget', tokenBudget, Number.MAX_SAFE_INTEGER)
  return {
    ...(keep === undefined ? {} : { keep }),
    ...(keepTurns === undefined ? {} : { keepTurns }),
    ...(tokenBudget === undefined ? {} : { tokenBudget }),
  }
}

/** The last message that a commit takes; undefined if all that is live is kept. */
export async function boundaryOf(transcript: Transcript, state: SessionState, retention: KeepOptions): Promise<Point | undefined> {
  const { keep, keepTurns, tokenBudget } = retention
  if ((keepTurns ?? keep ?? 0) === 0) return state.head
  const live = without(branchTo(state, state.head), state.held)
  const boundary = keepTurns === undefined ? new BehindMessages(keep ?? 0) : new BehindTurns(keepTurns, tokenBudget)
  let seen = 0
  for await (const { stored, point } of transcript.newestPlaced(live)) {
    const last = boundary.offer(stored.message, point)
    if (last !== undefined) return last
    if (++seen > LIMITS.keptMessages) throw invalid(`More than ${LIMITS.keptMessages} messages would be kept. Keep fewer.`)
  }
  return undefined
}

/** An orphan must not keep a whole session: its call may never have been here. */
const ORPHAN_SEARCH = 100

/** Is offered messages, the newest first; tells where the first one stands that need not be kept. No result that is kept may lack its call. */
class BehindMessages {
  readonly #keep: number
  readonly #results = new Set<string>()
  #kept = 0

  constructor(keep: number) {
    this.#keep = keep
  }

  offer(message: JsonObject, point: Point): Point | undefined {
    if (this.#kept >= this.#keep && (this.#results.size === 0 || this.#kept > this.#keep + ORPHAN_SEARCH)) return point
    this.#kept++
    const { calls, results } = viewOf(message)
    for (const result of results) this.#results.add(result.id)
    for (const call of calls) this.#results.delete(call.id)
    return undefined
  }
}

/** The same for whole turns. Whether a turn fits is known once its beginning was seen, so it remembers where the one behind it began. */
class BehindTurns {
  readonly #turns: number
  readonly #budget: number
  #complete = 0
  #tokens = 0
  /** The newest message that belongs to no complete turn. */
  #before: Point | undefined

  constructor(turns: number, budget = Number.POSITIVE_INFINITY) {
    this.#turns = turns
    this.#budget = budget
  }

  offer(message: JsonObject, point: Point): Point | undefined {
    this.#before ??= point
    this.#tokens += estimateTokens(JSON.stringify(message))
    if (this.#complete >= this.#turns || (this.#complete > 0 && this.#tokens > this.#budget)) return this.#before
    const { role, results } = viewOf(message)
    if (role === 'user' && results.length === 0) {
      this.#complete++
      this.#before = undefined
    }
    return undefined
  }
}
