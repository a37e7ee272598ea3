/**
 * Following while the page is visible. A browser opens few connections to one server, so a hidden page closes its own after a while and
 * follows again when it is visible.
 */
export const HIDDEN_MS = 20_000

/** The part of `document` that says whether the page is visible. */
export type VisiblePage = Pick<Document, 'hidden' | 'addEventListener' | 'removeEventListener'>

/** Runs `follow` while the page is visible, and up to `HIDDEN_MS` after that. The signal ends it. Returns a function that ends all. */
export function whileVisible(page: VisiblePage, follow: (signal: AbortSignal) => Promise<void>): () => void {
  let controller: AbortController | undefined
  let hiding: ReturnType<typeof setTimeout> | undefined
  const begin = (): void => {
    clearTimeout(hiding)
    if (controller !== undefined) return
    controller = new AbortController()
    // The requests of the page report what ends it for good.
    void follow(controller.signal).catch(() => undefined)
  }
  const end = (): void => {
    controller?.abort()
    controller = undefined
  }
  const onChange = (): void => {
    clearTimeout(hiding)
    if (page.hidden) hiding = setTimeout(end, HIDDEN_MS)
    else begin()
  }
  if (!page.hidden) begin()
  page.addEventListener('visibilitychange', onChange)
  return () => {
    clearTimeout(hiding)
    page.removeEventListener('visibilitychange', onChange)
    end()
  }
}
