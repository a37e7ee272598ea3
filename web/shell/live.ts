import { useEffect, useRef } from 'react'
import { whileVisible } from './while-visible.ts'

/** Runs `follow` while the page is visible. Another `subject` ends it and starts it again. */
export function useWhileVisible(follow: (signal: AbortSignal) => Promise<void>, subject: unknown): void {
  const current = useRef(follow)
  current.current = follow
  // biome-ignore lint/correctness/useExhaustiveDependencies: another subject starts it again
  useEffect(() => whileVisible(document, (signal) => current.current(signal)), [subject])
}
