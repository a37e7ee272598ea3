/** What sessions come to if one only keeps in mind who follows whom: no journals, no stretches, no archives. */

interface Node {
  readonly id: string
  readonly parent: Node | null
  /** The session that it was appended to. */
  readonly home: string
}

export class NaiveSession {
  readonly id: string
  readonly nodes = new Map<string, Node>()
  head: Node | null = null
  readonly #undo: (Node | null)[] = []

  constructor(id: string) {
    this.id = id
  }

  get path(): string[] {
    return pathTo(this.head).map(({ id }) => id)
  }

  get ids(): string[] {
    return [...this.nodes.keys()]
  }

  /** Whether a message was appended here, and not inherited. */
  isOwn(id: string): boolean {
    return this.nodes.get(id)?.home === this.id
  }

  append(ids: readonly string[], parent?: string): void {
    if (parent !== undefined && parent !== this.head?.id) this.move(parent)
    for (const id of ids) {
      this.head = { id, parent: this.head, home: this.id }
      this.nodes.set(id, this.head)
    }
  }

  move(to: string): void {
    const node = this.nodes.get(to) as Node
    if (node === this.head) return
    this.#undo.push(this.head)
    this.head = node
  }

  /** Undefined if there is nothing to undo. */
  undo(): true | undefined {
    const to = this.#undo.pop()
    if (to === undefined) return undefined
    this.head = to
    return true
  }

  fork(id: string, at: string | undefined): NaiveSession {
    const fork = new NaiveSession(id)
    fork.head = at === undefined ? this.head : (this.nodes.get(at) as Node)
    for (const node of pathTo(fork.head)) fork.nodes.set(node.id, node)
    return fork
  }
}

function pathTo(node: Node | null): Node[] {
  const path: Node[] = []
  for (let one = node; one !== null; one = one.parent) path.unshift(one)
  return path
}
