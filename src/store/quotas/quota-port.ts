/** How much a space or a key may hold and add, and what enforces that. */

/** What is not named has no limit. */
export interface Quota {
  readonly sessions?: number
  /** Of the journals, as they lie on the disk. */
  readonly bytes?: number
  readonly messagesPerMinute?: number
}

/** Whose quota: of a space, or of a key of a server. */
export type QuotaOf = { readonly space: string } | { readonly key: string }

/** What counts against a quota. */
export interface QuotaUsage {
  readonly sessions: number
  readonly bytes: number
}

/** Called for each refusal: by which limit, and whose. */
export type QuotaRefused = (limit: keyof Quota, of: 'space' | 'key') => void

/** What a caller is about to add. */
export interface Wanted {
  readonly sessions?: number
  readonly messages?: number
  readonly bytes?: number
}

export interface QuotaPort {
  /** The quota that was set. */
  get(of: QuotaOf): Promise<Quota>
  /** What counts against it; null if that is not counted. */
  usage(of: QuotaOf): Promise<QuotaUsage | null>
  set(of: QuotaOf, quota: Quota): Promise<void>
  /** Whether a key has a quota, so that what it adds is counted. */
  isCounted(key: string): Promise<boolean>
  /** Refuses with QUOTA_EXCEEDED what would exceed a quota; otherwise counts it. */
  admit(of: QuotaOf, wanted: Wanted): Promise<void>
  /** Writes down what was counted. */
  settle(): Promise<void>
}
