/** A client for a Holdfast server: `holdfast/client`. Needs nothing but `fetch`; the methods are those of the library. */
import { RemoteStore } from './store.ts'
import type { ConnectOptions } from './transport.ts'

export { type ErrorCode, type ErrorDetails, type ErrorReason, HoldfastError, type Outcome } from '../errors.ts'
export { type MessageView, type Role, type ToolCall, type ToolResult, viewOf } from '../message/message.ts'
export type { BranchesApi, DescriptionApi, ForksApi } from '../store/api/branches-api.ts'
export type { MessagesApi } from '../store/api/messages-api.ts'
export type { ArchivesApi, LifecycleApi, SessionApi } from '../store/api/session-api.ts'
export type { QuotaScope, RetentionApi, SearchApi, StoreApi, TasksApi } from '../store/api/store-api.ts'
export type { CommittedApi, TaskApi } from '../store/api/task-api.ts'
export type { DamagedPlace } from '../store/damage/damage.ts'
export type { AuditInfo, Caller, KeyInfo } from '../wire/access.ts'
export { damageText, distinctPlaces } from '../wire/damage.ts'
export { RemoteSession } from './session.ts'
export { type AuditOptions, type NewKeyOptions, type RemoteExportOptions, RemoteStore, type TokenOptions } from './store.ts'
export { RemoteTask } from './task.ts'
export type { ConnectOptions } from './transport.ts'

/**
 * Connects to the store at an address. It sends nothing yet.
 *
 * @param url The address of the server, such as `http://127.0.0.1:7717`.
 * @param options `key` defaults to the cookie of a browser. `retries` defaults to 5, `timeoutMs` to 60,000.
 * @returns The store.
 * @example
 * await using remote = connect('http://127.0.0.1:7717', { key: 'hf_…' })
 */
export function connect(url: string, options: ConnectOptions = {}): RemoteStore {
  return new RemoteStore(url, options)
}
