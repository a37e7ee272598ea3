/** What adapters need of a store: a directory opened in this process and a store at a server both have it. */
import type { SessionApi, StoreApi } from '../client/api.ts'
import { type ErrorCode, HoldfastError } from '../errors.ts'
import type { Page, PageOptions, StoredMessage } from '../store/transcript.ts'

export type AdapterSession = Pick<
  SessionApi,
  | 'id'
  | 'append'
  | 'exchange'
  | 'replace'
  | 'messages'
  | 'message'
  | 'revert'
  | 'putEntries'
  | 'entry'
  | 'entries'
  | 'describe'
  | 'info'
  | 'version'
  | 'delete'
>

export interface AdapterStore extends Pick<StoreApi, 'list'> {
  session(id: string): Promise<AdapterSession>
  create(options: Parameters<StoreApi['create']>[0]): Promise<AdapterSession>
}

const PAGE = 1000

/** The newest messages of a branch, oldest first, those in archives too; all of them unless a limit is told. None if there is no session. */
export async function newestMessages(
  session: Pick<AdapterSession, 'messages'>,
  { limit = Number.POSITIVE_INFINITY, branch }: { readonly limit?: number; readonly branch?: string } = {},
): Promise<StoredMessage[]> {
  const pages: (readonly StoredMessage[])[] = []
  let count = 0
  let options: PageOptions = { archived: true, ...(branch === undefined ? {} : { branch }) }
  while (count < limit) {
    const page = await ifThere(() => session.messages({ ...options, limit: Math.min(PAGE, limit - count) }))
    const [oldest] = page?.messages ?? []
    if (oldest === undefined) break
    pages.push((page as Page).messages)
    count += (page as Page).messages.length
    if (!(page as Page).more) break
    // What is appended meanwhile does not move this.
    options = { ...options, before: oldest.id }
  }
  return pages.reverse().flat()
}

/** Undefined of a session that nobody has written to yet. One that was deleted is an error: it is not empty, it is gone. */
export async function ifThere<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (hasReason(error, 'absent')) return undefined
    throw error
  }
}

export function hasReason(error: unknown, reason: string): boolean {
  return error instanceof HoldfastError && error.details.reason === reason
}

export function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof HoldfastError && error.code === code
}
