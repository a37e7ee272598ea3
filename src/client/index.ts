/** A client for a Holdfast server: `holdfast/client`. Needs nothing but `fetch`; the methods are those of the library. */
import { RemoteStore } from './store.ts'
import type { ConnectOptions } from './transport.ts'

export { type ErrorCode, HoldfastError, type Outcome } from '../errors.ts'
export { type MessageView, type Role, type ToolCall, type ToolResult, viewOf } from '../message/message.ts'
export type { DamagedPlace } from '../store/damage/damage.ts'
export { damageText, distinctPlaces } from '../wire/damage.ts'
export type { CommittedApi, Members, SessionApi, StoreApi, TaskApi } from './api.ts'
export { RemoteSession } from './session.ts'
export {
  type AuditInfo,
  type AuditOptions,
  type Caller,
  type KeyInfo,
  type NewKeyOptions,
  type RemoteExportOptions,
  RemoteStore,
  type TokenOptions,
} from './store.ts'
export { RemoteTask } from './task.ts'
export type { ConnectOptions } from './transport.ts'

/** The store at an address, such as `http://127.0.0.1:7717`. Touches nothing yet. */
export function connect(url: string, options: ConnectOptions = {}): RemoteStore {
  return new RemoteStore(url, options)
}
