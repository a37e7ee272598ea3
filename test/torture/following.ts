/** A follower: is shown every change of the sessions that are in use, from their beginning, and goes on behind the last one in its next life. */
import { setTimeout as sleep } from 'node:timers/promises'
import { HoldfastError } from '../../src/errors.ts'
import { type HistoryFile, nowUs } from './history.ts'
import type { Opened } from './looking.ts'
import { generationAt, sessionsOf, tagOf } from './sessions.ts'
import { readAll } from './wishes.ts'

const POLL_MS = 200
/** How many generations of sessions are followed at once. */
const FOLLOWED = 3
/** How long it waits for the end of a session when the others are done. */
const LAST_US = 20_000_000

/** Until it is told to end, and has been shown everything that is there. */
export async function follow(opened: Opened, history: HistoryFile, begun: number, over: AbortSignal): Promise<void> {
  const following = new Map<string, AbortController>()
  // Of one who takes another's place: what that one had begun is gone on with, however old.
  for (const session of history.cursors.keys()) following.set(session, begin(opened, history, session))
  while (!over.aborted) {
    const now = generationAt(begun)
    for (let generation = Math.max(0, now - 1); generation <= now; generation++) {
      const [session = ''] = sessionsOf(generation).talks
      if (!following.has(session)) following.set(session, begin(opened, history, session))
    }
    for (const old of [...following.keys()].slice(0, -FOLLOWED)) if (await isAtEnd(opened, history, old)) following.get(old)?.abort()
    await sleep(POLL_MS)
  }
  // A call may be repeated for so long that it succeeds after its session was followed to its end.
  for (const [session, ending] of following) {
    if (ending.signal.aborted && !(await isAtEnd(opened, history, session))) following.set(session, begin(opened, history, session))
  }
  for (const [session, ending] of following) {
    // What it still lacks by then is for the rules to judge.
    for (const until = nowUs() + LAST_US; nowUs() < until && !(await isAtEnd(opened, history, session)); ) await sleep(POLL_MS)
    ending.abort()
  }
}

function begin(opened: Opened, history: HistoryFile, id: string): AbortController {
  const ending = new AbortController()
  void (async () => {
    while (!ending.signal.aborted) {
      try {
        const session = opened.any().session(id)
        const after = history.cursors.get(id)
        for await (const { messages, cursor, type } of session.follow({
          ...(after === undefined ? { fromStart: true } : { after }),
          signal: ending.signal,
        })) {
          const tags = messages.map(({ message }) => tagOf(message))
          if (type === 'reset') history.reset(id, cursor)
          else history.show(id, tags, cursor)
        }
      } catch (error) {
        if (!(error instanceof HoldfastError)) throw error
        await sleep(POLL_MS)
      }
    }
  })()
  return ending
}

/** Whether it was shown every message that is there, in order, and perhaps others that were lost since. */
async function isAtEnd(opened: Opened, history: HistoryFile, id: string): Promise<boolean> {
  try {
    const session = opened.any().session(id)
    const { totalMessageCount } = await session.info()
    const shown = history.shownOf(id)
    if (shown.length === totalMessageCount) return true
    if (shown.length < totalMessageCount && !history.wasReset(id)) return false
    let next = 0
    for (const { tag } of (await readAll(session)).messages) {
      next = shown.indexOf(tag, next) + 1
      if (next === 0) return false
    }
    return true
  } catch (error) {
    // A session that nobody made has nothing to show.
    return error instanceof HoldfastError && error.code === 'NOT_FOUND'
  }
}
