/**
 * A simulated directory: the names that everybody sees, the names on the platter, and the changes in between, in order. Syncing it
 * makes its own names durable, not its own name in its parent, nor the content of what is named.
 */
import type { SimulatedFile } from './file.ts'
import type { Random } from './random.ts'

export type Node = SimulatedFile | SimulatedDirectory

export interface Watcher {
  /** Tells the watcher, at some later time. */
  notify(): void
}

type Change =
  | { readonly kind: 'set'; readonly name: string; readonly node: Node }
  | { readonly kind: 'delete'; readonly name: string }
  /** One change, not two: a file system never forgets both names. */
  | { readonly kind: 'rename'; readonly from: string; readonly name: string; readonly node: Node }

export class SimulatedDirectory {
  readonly entries = new Map<string, Node>()
  readonly watchers = new Set<Watcher>()
  #durable = new Map<string, Node>()
  #changes: Change[] = []

  /** Whether there are changes that a power loss could undo. */
  get dirty(): boolean {
    return this.#changes.length > 0
  }

  set(name: string, node: Node): void {
    this.#change({ kind: 'set', name, node })
  }

  delete(name: string): void {
    this.#change({ kind: 'delete', name })
  }

  rename(from: string, name: string, node: Node): void {
    this.#change({ kind: 'rename', from, name, node })
  }

  /** Another program changes a name, and that is durable at once. Without a node, the name is removed. */
  force(name: string, node: Node | undefined): void {
    this.#changes = this.#changes.filter((change) => change.name !== name && !(change.kind === 'rename' && change.from === name))
    for (const names of [this.entries, this.#durable]) {
      if (node === undefined) names.delete(name)
      else names.set(name, node)
    }
    this.notify()
  }

  /** What the names would lead to if the power failed now. */
  get durable(): ReadonlyMap<string, Node> {
    return this.#durable
  }

  sync(): void {
    this.#durable = new Map(this.entries)
    this.#changes.length = 0
  }

  /** The kernel writes the oldest change: out of order, an old removal could hit a new file of the same name for good. */
  writeBackOne(): void {
    const oldest = this.#changes.shift()
    if (oldest !== undefined) apply(this.#durable, oldest)
  }

  /** Each change that was not synced is kept or lost, by itself. Then the same for everything that is still named here. */
  losePower(random: Random, settled: Set<Node>): void {
    settled.add(this)
    const kindness = random.pick([0, 0.5, 1])
    for (const change of this.#changes) {
      if (random.chance(kindness)) apply(this.#durable, change)
    }
    this.#changes.length = 0
    this.watchers.clear()
    this.entries.clear()
    for (const [name, node] of this.#durable) {
      this.entries.set(name, node)
      const known = settled.has(node)
      settled.add(node)
      if (node instanceof SimulatedDirectory) {
        if (!known) node.losePower(random, settled)
        continue
      }
      if (!known) {
        node.losePower(random)
        node.links = 0
      }
      node.links += 1
      node.parent = this
    }
  }

  notify(): void {
    for (const watcher of this.watchers) watcher.notify()
  }

  #change(change: Change): void {
    apply(this.entries, change)
    this.#changes.push(change)
    this.notify()
  }
}

function apply(names: Map<string, Node>, change: Change): void {
  if (change.kind === 'rename') names.delete(change.from)
  if (change.kind === 'delete') names.delete(change.name)
  else names.set(change.name, change.node)
}
