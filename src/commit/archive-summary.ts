/** From an archive to its summary: reads its messages, asks the model, and makes the record. */

import { hash } from 'node:crypto'
import { branchTo, isWhole, PAST } from '../session/branch.ts'
import type { CommitFinished } from '../session/records.ts'
import type { Archive, SessionState } from '../session/state.ts'
import type { Handle } from '../store/handle.ts'
import type { LoadedMessages } from '../store/messages/loaded-messages.ts'
import { Transcript } from '../store/messages/transcript.ts'
import { archiveInfo } from '../store/tasks.ts'
import { memoryPolicyOf } from './memory-policy.ts'
import type { Model, PromptMessage, SummaryAnswer } from './model.ts'
import { promptOf, summarise } from './summarise.ts'

/** Of a session that wants neither a summary nor memories. */
const NOTHING: SummaryAnswer = { abstract: '', overview: '', memories: [] }

/** An archive to be summarised, in a state of its session, and what was read of it on the way. */
export interface Work {
  readonly state: SessionState
  readonly archive: Archive
  readonly loaded: LoadedMessages
}

export async function summaryOf(
  handle: Handle,
  { state, archive, loaded }: Work,
  model: Model,
  signal: AbortSignal,
): Promise<Omit<CommitFinished, 'attempts' | 'task'>> {
  const transcript = new Transcript(handle.parts, handle.id, state, loaded)
  const policy = memoryPolicyOf(state.policies)
  const messages: (PromptMessage & { depth: number })[] = []
  // Only what this archive takes is extracted: the rest was, by the archive or the session that took it.
  for (const [stretches, extract] of [[archive.covers, false] as const, [archive.takes, true] as const]) {
    for await (const several of transcript.inOrder(stretches)) {
      for (const stored of several) messages.push({ ...promptOf(stored, extract && policy.drawsFrom(stored.message)), depth: stored.depth })
    }
  }
  messages.sort((a, b) => a.depth - b.depth)
  const previous = await previousOverview(handle.id, state, archive, transcript)
  const isAsked = policy.summarises || messages.some(({ extract }) => extract)
  const answer = isAsked ? await summarise(model, { previous, messages }, { signal }) : NOTHING
  const { number, takes, covers, n, t } = archive
  return {
    archive: number,
    takes,
    covers,
    n,
    t,
    abstract: policy.summarises ? answer.abstract : '',
    overview: policy.summarises ? answer.overview : '',
    memories: answer.memories
      .filter(({ category }) => policy.keeps(category))
      .map((memory) => ({ id: memoryId(handle.id, number, memory.key), ...memory })),
    owner: state.owner,
    model: model.name,
    ...(answer.usage === undefined ? {} : { usage: answer.usage }),
  }
}

/** The last good summary of what leads to this archive. */
async function previousOverview(session: string, state: SessionState, archive: Archive, transcript: Transcript): Promise<string | null> {
  const last = [...archive.covers, ...archive.takes].reduce((a, b) => (b.to > a.to ? b : a))
  const branch = branchTo(state, { at: last.run === PAST ? null : [last.last, 0], n: last.to, t: 0 })
  const earlier = state.archives.filter((one) => one.number < archive.number && one.status === 'completed' && isWhole(one, branch))
  for (const one of earlier.reverse()) {
    const { overview } = await archiveInfo(session, one, transcript)
    if (overview !== null && overview !== '') return overview
  }
  return null
}

/** Derived, so that a worker that repeats the work of another makes the same. */
function memoryId(session: string, archive: number, key: string): string {
  return hash('sha256', JSON.stringify([session, archive, key]), 'hex').slice(0, 32)
}
