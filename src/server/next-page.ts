/** Headers that tell where the next page begins. */
export function nextPage(url: string, cursor: string): Record<string, string> {
  const next = new URL(url)
  next.searchParams.set('cursor', cursor)
  return { 'x-next-cursor': cursor, link: `<${next.pathname}${next.search}>; rel="next"` }
}
