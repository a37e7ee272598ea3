/**
 * Following what happens while somebody looks. A browser has few connections to one server, so a page that nobody sees lets go of its own, and
 * goes on from where it was when it is seen again.
 */
import { useEffect, useRef } from 'react'

/** Runs `follow` while the page is visible, or was a moment ago. It is given a signal that ends it. Another `subject` is followed anew. */
export function useWhileVisible(follow: (signal: AbortSignal) => Promise<void>, subject: unknown): void {
  const current = useRef(follow)
  current.current = follow
  // biome-ignore lint/correctness/useExhaustiveDependencies: another subject is followed anew
  useEffect(() => {
    let controller: AbortController | undefined
    let hiding: ReturnType<typeof setTimeout> | undefined
    const begin = (): void => {
      clearTimeout(hiding)
      if (controller !== undefined) return
      const own = new AbortController()
      controller = own
      // What ends it for good is told by the requests that the page makes.
      void current.current(own.signal).catch(() => undefined)
    }
    const end = (): void => {
      controller?.abort()
      controller = undefined
    }
    const onChange = (): void => {
      if (!document.hidden) begin()
      else hiding = setTimeout(end, HIDDEN_MS)
    }
    if (!document.hidden) begin()
    document.addEventListener('visibilitychange', onChange)
    return () => {
      clearTimeout(hiding)
      document.removeEventListener('visibilitychange', onChange)
      end()
    }
  }, [subject])
}

const HIDDEN_MS = 20_000
