/**
 * Pages for people, made of text alone: what is in them may be hostile, so every character of it is escaped, and a policy forbids whatever
 * the page does not need, which is everything but its own style.
 */
import { createHash } from 'node:crypto'

const STYLE = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
pre,code{font:14px/1.5 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
h2{margin-top:2.5rem}article{border-top:1px solid #8884;padding:.75rem 0}article h3{margin:0;font-size:1rem}
small,.dim{opacity:.7}table{border-collapse:collapse}td,th{text-align:left;vertical-align:top;padding:.15rem 1rem .15rem 0}`

const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

export function pageResponse(title: string, body: string, headers: Readonly<Record<string, string>> = {}, status = 200): Response {
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title><style>${STYLE}</style></head><body>${body}</body></html>`
  return new Response(html, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      ...headers,
    },
  })
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

interface Operation {
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema?: object
    readonly description?: string
  }[]
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: object }>> }
  readonly responses?: Readonly<
    Record<string, { readonly description?: string; readonly content?: Readonly<Record<string, { readonly schema?: object }>> }>
  >
}

/** The interface, to be read: made from the same document that programs read. */
export function docsPage(document: object): string {
  const { info, paths = {} } = document as {
    info: { title: string; version: string; description: string }
    paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  }
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation, tag: operation.tags?.[0] ?? '' })),
  )
  const tags = [...new Set(operations.map(({ tag }) => tag))]
  const sections = tags.map((tag) => {
    const articles = operations.filter((one) => one.tag === tag).map(({ path, method, operation }) => articleOf(method, path, operation))
    return `<h2 id="${escaped(tag)}">${escaped(tag)}</h2>${articles.join('')}`
  })
  const links = tags.map((tag) => `<a href="#${escaped(tag)}">${escaped(tag)}</a>`).join(' · ')
  const intro = `<p>${escaped(info.description).replaceAll('\n\n', '</p><p>')}</p>`
  return `<h1>${escaped(info.title)} ${escaped(info.version)}</h1>${intro}<p><a href="/openapi.json">openapi.json</a> · ${links}</p>${sections.join('')}`
}

function articleOf(method: string, path: string, { summary = '', parameters = [], requestBody, responses = {} }: Operation): string {
  const rows = parameters
    .filter((one) => one.in !== 'path')
    .map(({ name, in: where, required, schema = {}, description = '' }) => {
      const about = [required === true ? 'needed' : '', description].filter((word) => word !== '').join('; ')
      return `<tr><td><code>${escaped(name)}</code></td><td class="dim">${escaped(where)}</td><td><code>${escaped(shortOf(schema))}</code></td><td>${escaped(about)}</td></tr>`
    })
  const body = requestBody?.content?.['application/json']?.schema
  const [answer] = Object.values(responses['200']?.content ?? {})
  const parts = [
    `<h3><code>${escaped(method.toUpperCase())} ${escaped(path)}</code></h3>`,
    `<p>${escaped(summary)} <small>${escaped(responses['200']?.description ?? '')}</small></p>`,
    rows.length === 0 ? '' : `<table>${rows.join('')}</table>`,
    body === undefined ? '' : `<details><summary>body</summary><pre>${escaped(JSON.stringify(body, null, 2))}</pre></details>`,
    answer?.schema === undefined
      ? ''
      : `<details><summary>answer</summary><pre>${escaped(JSON.stringify(answer.schema, null, 2))}</pre></details>`,
  ]
  return `<article>${parts.join('')}</article>`
}

function shortOf(schema: object): string {
  const { type, enum: values, $ref } = schema as { type?: unknown; enum?: readonly unknown[]; $ref?: string }
  if (values !== undefined) return values.join(' | ')
  return $ref ?? (Array.isArray(type) ? type.filter((one) => one !== 'null').join(' | ') : String(type ?? 'any'))
}
