/** Relative links in markdown: the file must exist and, where the link names one, so must the heading. */
import { dirname, join } from 'node:path/posix'
import type { SourceFile } from './sources.ts'

/** What is wrong, one sentence for each violation. `exists` answers for paths from the root of the repository. */
export function checkLinks(files: readonly SourceFile[], exists: (path: string) => boolean): string[] {
  const anchors = new Map(files.map(({ path, text }) => [path, anchorsOf(text)]))
  return files.flatMap(({ path, text }) =>
    linksOf(text).flatMap((link) => {
      const [target = '', anchor = ''] = link.split('#')
      const to = target === '' ? path : join(dirname(path), decodeURIComponent(target)).replace(/\/$/, '')
      if (to.startsWith('..')) return [`${path} links to ${link}, which is outside the repository`]
      if (to !== path && !exists(to)) return [`${path} links to ${link}, which does not exist`]
      const known = anchors.get(to)
      return anchor !== '' && known !== undefined && !known.has(anchor) ? [`${path} links to ${link}: no such heading`] : []
    }),
  )
}

/** Targets of links and images, inline and by reference; not those with a scheme, and nothing inside code. */
function linksOf(markdown: string): string[] {
  const text = withoutFences(markdown).replace(/(`+)[^`]*?\1/g, '')
  const inline = [...text.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)]
  const references = [...text.matchAll(/^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)/gm)]
  return [...inline, ...references].map((match) => match[1] ?? '').filter((link) => !/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(link))
}

/** The anchors of the headings, as GitHub makes them. */
function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>()
  for (const match of withoutFences(markdown).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)) {
    const title = (match[1] ?? '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    const anchor = title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-')
    let unique = anchor
    for (let count = 1; anchors.has(unique); count++) unique = `${anchor}-${count}`
    anchors.add(unique)
  }
  return anchors
}

function withoutFences(markdown: string): string {
  return markdown.replace(/^ {0,3}(`{3,}|~{3,})[^\n]*\n(?:[\s\S]*?\n)?? {0,3}\1[ \t]*$/gm, '')
}
