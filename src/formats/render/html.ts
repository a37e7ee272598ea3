/**
 * A session as one page that needs nothing else: no script, no image, no address is loaded, and a policy forbids it. Everything that comes
 * from a session is escaped.
 */
import { type PageHead, type PageMessage, partsOf } from './page.ts'

const STYLE = `
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{max-width:50rem;margin:2rem auto;padding:0 1rem}
header p{color:GrayText}
article{border-top:1px solid #8884;padding:.75rem 0}
article>h2{font-size:.85rem;margin:0 0 .25rem;text-transform:uppercase;letter-spacing:.05em}
article>h2 time{font-weight:normal;color:GrayText;text-transform:none;margin-left:.5rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:0;font:inherit}
details{margin:.25rem 0}details pre,.archive pre{font-family:ui-monospace,monospace;font-size:.85rem;background:#8881;padding:.5rem;border-radius:4px}
summary{cursor:pointer;color:GrayText}
`

export function htmlStart(title: string): string {
  const policy = "default-src 'none'; style-src 'unsafe-inline'"
  return `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width,initial-scale=1">\n<meta http-equiv="Content-Security-Policy" content="${policy}">\n<title>${escaped(title)}</title>\n<style>${STYLE}</style>\n</head>\n<body>\n`
}

export const HTML_END = '</body>\n</html>\n'

export function htmlHead({ session, title, createdAt, updatedAt, messageCount }: PageHead): string {
  const facts = `${escaped(session)} · ${messageCount} messages · ${escaped(createdAt)} to ${escaped(updatedAt)}`
  return `<header>\n<h1>${escaped(title ?? session)}</h1>\n<p>${facts}</p>\n</header>\n`
}

export function htmlArchive(number: number, overview: string): string {
  return `<details class="archive"><summary>Archive ${number}</summary><pre>${escaped(overview)}</pre></details>\n`
}

export function htmlMessage({ id, at, view }: PageMessage): string {
  const parts = partsOf(view).map(({ kind, label, text }) =>
    kind === 'text' ? `<pre>${escaped(text)}</pre>` : `<details><summary>${escaped(label)}</summary><pre>${escaped(text)}</pre></details>`,
  )
  const head = `<h2>${view.role ?? 'message'}<time>${escaped(at)}</time></h2>`
  return `<article id="m-${escaped(encodeURIComponent(id.toWellFormed()))}">\n${head}\n${parts.join('\n')}\n</article>\n`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
