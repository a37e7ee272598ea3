/** Keys that do something. What is on the screen adds its own; what was added last is asked first. The help is made from the same list. */
import { useEffect, useRef } from 'react'

export interface Shortcut {
  /** As `KeyboardEvent.key` has it; `g s` for one after the other, `mod+k` for Control or Command. */
  readonly keys: string
  readonly about: string
  readonly run: () => void
}

const groups: { readonly name: string; shortcuts: () => readonly Shortcut[] }[] = []
const CHORD_MS = 1000
let first = { key: '', atMs: 0 }

export function shortcutGroups(): { name: string; shortcuts: readonly Shortcut[] }[] {
  return groups.map(({ name, shortcuts }) => ({ name, shortcuts: shortcuts() }))
}

export function useShortcuts(name: string, shortcuts: readonly Shortcut[]): void {
  const current = useRef(shortcuts)
  current.current = shortcuts
  useEffect(() => {
    const group = { name, shortcuts: () => current.current }
    groups.push(group)
    return () => {
      groups.splice(groups.indexOf(group), 1)
    }
  }, [name])
}

/** Hands keys to whoever wants them, unless somebody is writing. */
export function listenToKeys(): () => void {
  const onKey = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.altKey) return
    const modified = event.ctrlKey || event.metaKey
    if (!modified && isWriting(event.target)) return
    const key = modified ? `mod+${event.key.toLowerCase()}` : event.key
    const chord = performance.now() - first.atMs < CHORD_MS ? `${first.key} ${key}` : undefined
    first = { key, atMs: performance.now() }
    const all = groups.toReversed().flatMap(({ shortcuts }) => shortcuts())
    const wanted = all.find(({ keys }) => keys === chord) ?? all.find(({ keys }) => keys === key)
    if (wanted === undefined) return
    event.preventDefault()
    first = { key: '', atMs: 0 }
    wanted.run()
  }
  document.addEventListener('keydown', onKey)
  return () => document.removeEventListener('keydown', onKey)
}

function isWriting(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return target.type !== 'checkbox'
  return target instanceof HTMLElement && (target.isContentEditable || /^(?:TEXTAREA|SELECT)$/.test(target.tagName))
}
