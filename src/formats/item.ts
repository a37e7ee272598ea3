/**
 * What an importer makes of a source: a row of items, each of which says what to put into which session. Items come in the order in which
 * things happened, so that whoever takes them can write each at once and need not hold a session in memory. Ids are stable: the same
 * source, read again or grown, gives the same items with the same ids, and a second import changes nothing.
 */
import type { Json, JsonObject } from '../record/record.ts'
import type { Description, ExtractedMemory, ModelCall } from '../session/records.ts'

/** A file of a source. Reading it again begins at its first byte. */
export interface SourceFile {
  /** Its path below the source, with slashes. */
  readonly path: string
  /** About as many bytes as reading it gives. */
  readonly size: number
  read(): AsyncIterable<Uint8Array>
  /** Why reading it ended early the last time, if it did: what came before is all that is left. */
  readonly fault?: () => string | undefined
}

/** What is imported as one: mostly one file, for some formats a directory. */
export interface Source {
  /** As an operator would name it; a path, if it has one. */
  readonly name: string
  readonly files: readonly SourceFile[]
  /** Left behind by a save that was interrupted: of use only if it is whole. */
  readonly orphan?: boolean
}

/** Reads one foreign format. */
export interface Importer {
  readonly name: string
  /** Whether a file or a directory is of this format, by what it is called and how its files begin. `heads` has a beginning of each. */
  recognises(source: Source, heads: ReadonlyMap<string, string>): boolean
  /** Files that only a parent or a child can tell to be related: all are looked at before the first one is imported. */
  readonly relates?: boolean
  /** Its items in order, one by one, or many at a time: to wait for each of them alone takes longer than to read it. */
  read(source: Source): AsyncIterable<Item | readonly Item[]>
}

/** The items of a source one by one. */
export async function* itemsIn(importer: Importer, source: Source): AsyncGenerator<Item> {
  for await (const read of importer.read(source)) {
    if ('kind' in read) yield read
    else yield* read
  }
}

/** Where something stands in a source. */
export interface SourcePlace {
  readonly file: string
  readonly line: number | null
  readonly offset: number
  readonly length: number
}

export type Item =
  | SessionItem
  | MessageItem
  | ReplacementItem
  | ArchiveItem
  | SnapshotItem
  | HeadItem
  | ForkItem
  | EntryItem
  | DescribeItem
  | UsageItem
  | ShareItem
  | HealedItem
  | DamageItem

/** Begins a session, or goes on with it. It comes before everything else of that session. */
export interface SessionItem {
  readonly kind: 'session'
  readonly session: string
  readonly description: Description
  readonly at?: string | undefined
  readonly parent?: ParentItem | undefined
  /** Sessions that come from this one, where only the parent says so. */
  readonly children?: readonly string[]
  /** Messages that are new follow the one before them in this source, even if the session went on otherwise. */
  readonly exact?: boolean
}

/**
 * Whom it comes from. A fork begins with the messages that both have in common; `before` says up to which number in the parent's log, if
 * the fork does not repeat them.
 */
export interface ParentItem {
  readonly session: string
  readonly kind: 'fork' | 'child'
  /** The last message that they share, where the source says so by id. */
  readonly message?: string | null
  readonly before?: number
}

export interface MessageItem {
  readonly kind: 'message'
  readonly session: string
  readonly id: string
  readonly message: JsonObject
  readonly at?: string | undefined
  /** The message that it follows, if that is not the one before it; null: it is a first one. */
  readonly after?: string | null | undefined
  /** It comes from a damaged place. */
  readonly recovered?: boolean | undefined
  /** The message as JSON, and the digest of that, where its importer has made them: they need not be made again. */
  readonly text?: string | undefined
  readonly digest?: string | undefined
  /** The message as JSON in bytes, one piece behind the other, where they stand like that in the source and all of them are plain (lines.ts). They hold until more is asked for than was read with them. */
  readonly pieces?: readonly Uint8Array[] | undefined
  /** What the call took that it came from. It counts once, with the message. */
  readonly usage?: ModelCall | undefined
  /** Who says what, where the message itself is made only if somebody asks for it. */
  readonly said?: JsonObject | undefined
}

/** Another content of a message. */
export interface ReplacementItem {
  readonly kind: 'replacement'
  readonly session: string
  readonly id: string
  readonly message: JsonObject
  readonly at?: string | undefined
  /** What the call took that it came from. It counts unless it was told with the message. */
  readonly usage?: ModelCall | undefined
}

/** Everything live up to a message, the last one unless told, was put into an archive. */
export interface ArchiveItem {
  readonly kind: 'archive'
  readonly session: string
  /** Tells this archive from others of the session, for ever. */
  readonly key: string
  readonly upTo?: string | undefined
  readonly at?: string | undefined
  readonly outcome: ArchiveOutcome
  /** The id of its task; made from the key unless told. */
  readonly task?: string | undefined
}

/** `completed`: it is never extracted again. `pending`: a worker makes its summary. */
export type ArchiveOutcome =
  | {
      readonly status: 'completed'
      readonly abstract: string
      readonly overview: string
      readonly memories?: readonly ExtractedMemory[]
      readonly owner?: string | null
      readonly model?: string
      readonly usage?: { readonly inputTokens: number; readonly outputTokens: number }
      readonly attempts?: number
      readonly endedAt?: string | undefined
      readonly retracted?: boolean
    }
  | { readonly status: 'pending' }
  | { readonly status: 'cancelled'; readonly endedAt?: string | undefined }
  | {
      readonly status: 'failed'
      readonly error: { readonly code: string; readonly message: string }
      readonly attempts?: number
      readonly endedAt?: string | undefined
    }

export interface SnapshotItem {
  readonly kind: 'snapshot'
  readonly session: string
  readonly name: string
  /** The last message that it has; null if it has none. */
  readonly message: string | null
  readonly at?: string | undefined
}

/** The head was moved, by a revert or an undo. */
export interface HeadItem {
  readonly kind: 'head'
  readonly session: string
  readonly to: string | null
  readonly why: 'revert' | 'undo'
  readonly target?: string | undefined
  readonly at?: string | undefined
}

/** Another session began from this one here. Its own items come later, behind a line of its own. */
export interface ForkItem {
  readonly kind: 'fork'
  readonly session: string
  readonly child: string
  /** The last message that they share; of a fork only. */
  readonly message: string | null
  readonly as: 'fork' | 'child'
  readonly description: Description
  readonly at?: string | undefined
}

/** Something that is no message: kept beside them as it is. Without a value: it was removed. */
export interface EntryItem {
  readonly kind: 'entry'
  readonly session: string
  readonly channel: string
  readonly key: string
  readonly value?: Json
  /** Of the value as JSON, where that is known. */
  readonly length?: number
  readonly at?: string | undefined
}

export interface DescribeItem {
  readonly kind: 'describe'
  readonly session: string
  readonly description: Description
  readonly at?: string | undefined
}

/** A call to a model from which no message came, or none that can be told. */
export interface UsageItem extends ModelCall {
  readonly kind: 'usage'
  readonly session: string
  /** Tells this call from others, for ever. */
  readonly key: string
  readonly at?: string | undefined
}

export interface ShareItem {
  readonly kind: 'share'
  readonly session: string
  readonly share: string
  /** Digest of its token. */
  readonly digest: string
  readonly expiresAt: string | null
  readonly redact?: boolean
  readonly at?: string | undefined
}

/** Something that was wrong in the source and is right now. */
export interface HealedItem {
  readonly kind: 'healed'
  readonly session: string
  readonly what: string
}

/** What could not be read. `session` is null where nobody can tell whose it was. */
export interface DamageItem {
  readonly kind: 'damage'
  readonly session: string | null
  readonly place: SourcePlace
  readonly reason: string
  /** As it stands in the source, for the quarantine. */
  readonly bytes: Uint8Array
}
