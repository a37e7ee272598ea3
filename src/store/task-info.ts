/** What can be said of archives and of the tasks that summarise them. */
import type { Message } from '../message/shapes.ts'
import type { ExtractedMemory } from '../session/records.ts'
import type { TaskStatus } from '../session/state.ts'
import type { DamagedPlace } from './damage/damage.ts'
import type { WriteOptions } from './handle.ts'
import type { KeepOptions } from './lifecycle/keep-options.ts'
import type { StoredMessage } from './messages/stored-message.ts'

export interface CommitOptions extends KeepOptions, WriteOptions {}

export interface TaskInfo {
  readonly id: string
  readonly session: string
  readonly archive: number
  readonly status: TaskStatus
  /** How often it was begun. */
  readonly attempts: number
  readonly createdAt: string
  readonly updatedAt: string
  /** What came of it; null while there is nothing. The archive has the whole summary. */
  readonly result: {
    readonly abstract: string
    readonly memories: number
    /** How many memories of each category. */
    readonly categories: Readonly<Record<string, number>>
  } | null
  /** Why it failed, the last time that it did. */
  readonly error: { readonly code: string; readonly message: string } | null
}

export interface ArchiveInfo {
  readonly number: number
  readonly status: TaskStatus
  readonly task: string
  readonly messageCount: number
  /** Where on the branch its messages stand: depths from one up to another. Less than all of them if the branch has left it. */
  readonly spans: readonly { readonly from: number; readonly to: number }[]
  readonly tokens: number
  readonly createdAt: string
  readonly updatedAt: string
  readonly attempts: number
  /** One line; null while there is no summary. */
  readonly abstract: string | null
  readonly overview: string | null
  readonly memories: readonly ExtractedMemory[]
  readonly error: TaskInfo['error']
}

export interface WholeArchive<M extends object = Message> extends ArchiveInfo {
  /** One page of them, oldest first. */
  readonly messages: readonly StoredMessage<M>[]
  /** The cursor of the next page of messages, or null on the last one. */
  readonly cursor: string | null
  /** Where messages of this page, or the summary of the archive, cannot be read. */
  readonly damage: readonly DamagedPlace[]
}

export interface ArchivePageOptions {
  /** The largest number of messages, up to 1000. Defaults to 1000. */
  readonly limit?: number
  /** The cursor of the page before. Null begins at the first page. */
  readonly cursor?: string | null | undefined
}
