/** An archive of a source, put into a session: with its summary if it has one, otherwise as a task in the state that it had. */
import type { ArchiveItem, ArchiveOutcome } from '../../formats/item.ts'
import { digest } from '../../formats/values.ts'
import * as archives from '../../session/decide-commit.ts'
import type { Point } from '../../session/state.ts'
import type { Handle } from '../../store/handle.ts'
import { admit } from '../../store/messages/admission.ts'

type Completed = Extract<ArchiveOutcome, { status: 'completed' }>
type Unfinished = Exclude<ArchiveOutcome, Completed>

/** Archives everything live up to `boundary`. The id of the task is the same however often the source is imported. */
export async function writeArchive(handle: Handle, boundary: Point, { session, key, at, outcome, task }: ArchiveItem): Promise<void> {
  const id = task ?? taskIdOf(session, key)
  if (outcome.status === 'completed') await adopt(handle, boundary, id, outcome, at)
  else await request(handle, boundary, id, outcome, at)
}

function taskIdOf(session: string, key: string): string {
  const hex = digest(`${session}\0${key}`)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

async function adopt(handle: Handle, boundary: Point, task: string, outcome: Completed, at: string | undefined): Promise<void> {
  const { owner = null, model = 'imported', usage, attempts = 0, endedAt = at, retracted = false } = outcome
  const { abstract, overview, memories = [] } = admit(handle.parts, handle.id, 'summary', outcome)
  const adopted = {
    task,
    ...(at === undefined ? {} : { requestedAt: at }),
    ...{ attempts, abstract, overview, memories, owner, model },
    ...(usage === undefined ? {} : { usage }),
  }
  await handle.submit({ at: endedAt }, (terms) => archives.adopt(terms, boundary, adopted))
  if (!retracted) return
  const archive = (await handle.state()).archives.find((one) => one.task === task)
  if (archive !== undefined) await handle.submit({ at: endedAt }, (terms) => archives.retract(terms, archive.number))
}

async function request(handle: Handle, boundary: Point, task: string, outcome: Unfinished, at: string | undefined): Promise<void> {
  await handle.submit({ at }, (terms) => archives.request(terms, boundary, task))
  if (outcome.status === 'pending') return
  const ended = outcome.status === 'failed' ? { attempts: outcome.attempts ?? 0, error: outcome.error } : { attempts: 0 }
  await handle.submit({ at: outcome.endedAt ?? at }, (terms) => archives.giveUp(terms, task, ended))
}
