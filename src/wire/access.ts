/** API keys, session tokens, callers and the audit log as they are in JSON, over HTTP and with `--json`; and back. */
import { as, count, type Describes, described, flag, nullable, object, oneOf, sent, text, time } from './codec.ts'

const scope = oneOf('read', 'write', 'admin')

/** An API key, without its secret. */
export interface KeyInfo {
  readonly id: string
  readonly space: string
  readonly scope: 'read' | 'write' | 'admin'
  readonly owner: string | null
  readonly name: string | null
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly revokedAt: string | null
}

const keyFields = {
  id: as('key_id', text),
  space: text,
  scope,
  owner: nullable(text),
  name: nullable(text),
  createdAt: time,
  expiresAt: nullable(time),
  revokedAt: nullable(time),
}

export const keyCodec = object(keyFields, { name: 'Key' }) satisfies Describes<KeyInfo>

/** A key that was just created, with its secret. */
export const newKeyCodec = object({ ...keyFields, key: text }, { name: 'NewKey' }) satisfies Describes<KeyInfo & { readonly key: string }>

export const tokenCodec = object(
  {
    token: text,
    id: sent(as('token_id', text)),
    scope: sent(scope),
    session: sent(as('session_id', nullable(text))),
    owner: sent(nullable(text)),
    expiresAt: time,
  },
  { name: 'Token' },
)

/** Who the server takes the caller for. */
export interface Caller {
  /** The id of the API key. */
  readonly key: string
  readonly kind: 'key' | 'token' | 'cookie' | 'nobody'
  readonly space: string
  readonly scope: KeyInfo['scope']
  readonly owner: string | null
  /** The only session that a session token opens. */
  readonly session: string | null
  readonly serverVersion: string
  /** Whether sessions have keys, which can be destroyed. */
  readonly encrypted: boolean
}

export const callerCodec = object(
  {
    key: as('key_id', text),
    kind: oneOf('key', 'token', 'cookie', 'nobody'),
    space: text,
    scope,
    owner: nullable(text),
    session: as('session_id', nullable(text)),
    serverVersion: text,
    encrypted: described(flag, 'whether sessions have keys, which can be destroyed'),
  },
  { name: 'Caller' },
) satisfies Describes<Caller>

/** One audited action, or several of a kind. */
export interface AuditInfo {
  readonly at: string
  /** The id of the API key. */
  readonly key: string
  readonly space: string
  readonly action: string
  readonly session: string | null
  readonly status: number
  readonly count: number
  /** The id of the request. Null if several are counted together. */
  readonly request: string | null
}

export const auditCodec = object(
  {
    at: text,
    key: as('key_id', described(text, 'of the API key; `share …` if a share was opened')),
    space: text,
    action: text,
    session: as('session_id', nullable(text)),
    status: count,
    count,
    request: as('request_id', nullable(text)),
  },
  { name: 'AuditEntry' },
) satisfies Describes<AuditInfo>
