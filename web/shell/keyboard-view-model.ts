/** The keys that do something. Each part of the page adds its own; the part that was added last is asked first. */
export interface Shortcut {
  /** As `KeyboardEvent.key` has it; `g s` for one after the other, `mod+k` for Control or Command. */
  readonly keys: string
  readonly about: string
  readonly run: () => void
}

export interface ShortcutGroup {
  readonly name: string
  readonly shortcuts: readonly Shortcut[]
}

/** The part of a `KeyboardEvent` that decides, and whether the focus is in a field that takes text. */
export type KeyPress = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'> & { readonly isWriting: boolean }

/** The second key of a chord comes within this time. */
const CHORD_MS = 1000
const NO_KEY = { key: '', atMs: Number.NEGATIVE_INFINITY }

export class KeyboardViewModel {
  readonly #groups: { readonly name: string; readonly shortcuts: () => readonly Shortcut[] }[] = []
  #first = NO_KEY

  get groups(): ShortcutGroup[] {
    return this.#groups.map(({ name, shortcuts }) => ({ name, shortcuts: shortcuts() }))
  }

  /** Returns a function that removes the group. */
  add(name: string, shortcuts: () => readonly Shortcut[]): () => void {
    const group = { name, shortcuts }
    this.#groups.push(group)
    return () => {
      this.#groups.splice(this.#groups.indexOf(group), 1)
    }
  }

  /** Runs the shortcut of a key. Returns whether there was one. */
  press({ key: name, ctrlKey, metaKey, altKey, isWriting }: KeyPress): boolean {
    if (altKey) return false
    const modified = ctrlKey || metaKey
    if (!modified && isWriting) return false
    const key = modified ? `mod+${name.toLowerCase()}` : name
    const nowMs = performance.now()
    const chord = nowMs - this.#first.atMs < CHORD_MS ? `${this.#first.key} ${key}` : undefined
    this.#first = { key, atMs: nowMs }
    const all = this.#groups.toReversed().flatMap(({ shortcuts }) => shortcuts())
    const wanted = all.find(({ keys }) => keys === chord) ?? all.find(({ keys }) => keys === key)
    if (wanted === undefined) return false
    this.#first = NO_KEY
    wanted.run()
    return true
  }
}
