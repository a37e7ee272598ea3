/** `snapshot`, `revert` and `undo`: moving along the branches of a session. */
import { HoldfastError } from '../errors.ts'
import { namedTarget } from '../wire/named-target.ts'
import type { Context } from './context.ts'

export async function snapshot(context: Context, [id, name]: [string, string]): Promise<void> {
  const session = (await context.write()).session(id)
  const { version } = await session.snapshot(name)
  await context.out.result({ session_id: id, version })
  context.out.note(`Named this state of "${id}" "${name}".`)
}

export async function revert(context: Context, [id, target]: [string, string]): Promise<void> {
  const session = (await context.write()).session(id)
  const { version } = await session.revert(await namedTarget(session, target)).catch((error: unknown) => {
    if (!(error instanceof HoldfastError) || error.details.reason !== 'no message') throw error
    const message = `"${target}" is neither a snapshot nor a message of "${id}". \`holdfast show\` prints its messages with their ids.`
    throw new HoldfastError('NOT_FOUND', message, { details: error.details, cause: error })
  })
  await context.out.result({ session_id: id, version })
  context.out.note(`"${id}" is at "${target}" again. \`holdfast undo\` takes that back.`)
}

export async function undo(context: Context, [id]: [string]): Promise<void> {
  const session = (await context.write()).session(id)
  const { version } = await session.undo()
  await context.out.result({ session_id: id, version })
  context.out.note(`Took back the last revert of "${id}".`)
}
