/**
 * What a store offers, wherever it is: a directory opened in this process, or a server. Whoever uses no more than this need not know. The
 * library's classes are such stores as they are; `connect` makes one of an address.
 */

import type { ForkOptions, Session } from '../store/session.ts'
import type { CreateOptions, Store } from '../store/store.ts'
import type { CommitOptions, Committed, Task } from '../store/tasks.ts'

/** The public members of a class. */
export type Members<T> = { readonly [K in keyof T]: T[K] }

export type TaskApi = Members<Task>

export type CommittedApi =
  | (Omit<Extract<Committed, { status: 'accepted' }>, 'task'> & { readonly task: TaskApi })
  | Extract<Committed, { status: 'skipped' }>

export interface SessionApi extends Omit<Members<Session>, 'fork' | 'child' | 'commit' | 'create'> {
  fork(options?: ForkOptions): Promise<SessionApi>
  child(options?: Omit<ForkOptions, 'at'>): Promise<SessionApi>
  commit(options?: CommitOptions): Promise<CommittedApi>
}

export interface StoreApi
  extends Pick<
    Members<Store>,
    | 'warnings'
    | 'destroyKey'
    | 'quota'
    | 'setQuota'
    | 'quotaUsage'
    | 'retention'
    | 'setRetention'
    | 'list'
    | 'search'
    | 'memories'
    | 'stats'
    | 'tasks'
    | 'retryTasks'
    | 'purge'
    | 'erase'
    | 'expire'
    | 'shared'
    | 'close'
  > {
  session(id: string): SessionApi
  create(options?: CreateOptions): Promise<SessionApi>
  task(id: string): Promise<TaskApi>
}
