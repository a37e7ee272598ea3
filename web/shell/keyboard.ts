import { useEffect, useRef } from 'react'
import { KeyboardViewModel, type Shortcut } from './keyboard-view-model.ts'

export const keyboard = new KeyboardViewModel()

export function useShortcuts(name: string, shortcuts: readonly Shortcut[]): void {
  const current = useRef(shortcuts)
  current.current = shortcuts
  useEffect(() => keyboard.add(name, () => current.current), [name])
}

/** Hands keys to the keyboard's shortcuts, except while a person writes. */
export function listenToKeys(): () => void {
  const onKey = (event: KeyboardEvent): void => {
    if (event.defaultPrevented) return
    const { key, ctrlKey, metaKey, altKey } = event
    if (keyboard.press({ key, ctrlKey, metaKey, altKey, isWriting: isWriting(event.target) })) event.preventDefault()
  }
  document.addEventListener('keydown', onKey)
  return () => document.removeEventListener('keydown', onKey)
}

function isWriting(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return target.type !== 'checkbox'
  return target instanceof HTMLElement && (target.isContentEditable || /^(?:TEXTAREA|SELECT)$/.test(target.tagName))
}
