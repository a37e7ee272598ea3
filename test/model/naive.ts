/**
 * The store as one would write it without a care: a tree of messages in objects, maps for the rest, everything in memory, nothing
 * shared. A fork is a copy. What the real store answers is held against it.
 */
import type { Json, JsonObject } from '../../src/record/record.ts'

/** Reads nothing but where it hangs; what it says is kept by each session for itself. */
export interface Node {
  readonly id: string
  readonly parent: Node | undefined
  readonly depth: number
}

interface Call {
  readonly body: string
  /** Of an append. */
  readonly nodes: readonly Node[]
}

export class NaiveSession {
  /** Different for every incarnation. */
  readonly born: number
  status: 'live' | 'deleted' = 'live'
  version = ''
  title: string | null = null
  tags: readonly string[] = []
  metadata: JsonObject = {}
  origin: { readonly session: string; readonly kind: 'fork' | 'child'; readonly message: string | null } | null = null
  nodes = new Map<string, Node>()
  /** Every content of every message, the newest last. */
  contents = new Map<string, readonly JsonObject[]>()
  head: Node | undefined
  undo: (Node | undefined)[] = []
  snapshots = new Map<string, Node | undefined>()
  puts: { readonly channel: string; readonly key: string; readonly value?: Json }[] = []
  usage = new Map<string, { calls: number; inputTokens: number; outputTokens: number }>()
  /** Operation keys, with what was sent under them. */
  calls = new Map<string, Call>()
  /** Those of its past: one of them keeps its key for further forks, also if this session was itself made under the same. */
  readonly #inherited = new Map<string, Call>()

  constructor(born: number) {
    this.born = born
  }

  get path(): Node[] {
    return pathTo(this.head)
  }

  content(id: string): JsonObject {
    return this.contents.get(id)?.at(-1) as JsonObject
  }

  append(node: Node, content: JsonObject): void {
    this.nodes.set(node.id, node)
    this.contents.set(node.id, [content])
    this.head = node
  }

  move(to: Node | undefined): void {
    this.undo.push(this.head)
    this.head = to
  }

  describe(title: string | null | undefined, tags: readonly string[] | undefined, metadata: JsonObject | undefined): void {
    if (title !== undefined) this.title = title
    if (tags !== undefined) this.tags = tags
    for (const [field, value] of Object.entries(metadata ?? {})) {
      const { [field]: _, ...others } = this.metadata
      this.metadata = value === null ? others : { ...this.metadata, [field]: value }
    }
  }

  /** The last values of a channel, the newest first. */
  entries(channel: string): { key: string; value: Json }[] {
    const seen = new Set<string>()
    return this.puts.toReversed().flatMap((put) => {
      if (put.channel !== channel || seen.has(put.key)) return []
      seen.add(put.key)
      return put.value === undefined ? [] : [{ key: put.key, value: put.value }]
    })
  }

  /** Begins with the way to a message: its messages, what they said, and the calls that appended all of theirs on it. */
  inherit(from: NaiveSession, at: Node | undefined): void {
    const path = pathTo(at)
    for (const node of path) {
      this.nodes.set(node.id, node)
      this.contents.set(node.id, from.contents.get(node.id) as readonly JsonObject[])
    }
    this.head = at
    const { title, tags, metadata } = from
    Object.assign(this, { title, tags, metadata })
    for (const [key, call] of [...from.#inherited, ...from.calls]) {
      if (call.nodes.length === 0 || !call.nodes.every((node) => path.includes(node))) continue
      this.calls.set(key, call)
      this.#inherited.set(key, call)
    }
  }
}

function pathTo(node: Node | undefined): Node[] {
  const path: Node[] = []
  for (let one = node; one !== undefined; one = one.parent) path.unshift(one)
  return path
}

export class Naive {
  readonly sessions = new Map<string, NaiveSession>()
  /** Whoever was deleted and then purged: nothing is left but that it was. */
  readonly purged = new Set<NaiveSession>()
  /** Forks, with the incarnation that each was made from. Those of purged forks are let go. */
  readonly forks: { readonly from: NaiveSession; readonly fork: NaiveSession }[] = []
  /** What was done so far, to be done again. */
  readonly history: ((changed: object) => Promise<void>)[] = []
  #born = 0

  begin(id: string): NaiveSession {
    const session = new NaiveSession(this.#born++)
    this.sessions.set(id, session)
    return session
  }

  live(id: string): NaiveSession | undefined {
    const session = this.sessions.get(id)
    return session?.status === 'live' ? session : undefined
  }
}
