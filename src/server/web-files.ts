/**
 * The files of the page, as the build left them in dist/web. There are few, so they are kept in memory, compressed once. Names with a
 * hash in them change with their content and are kept by browsers for ever; the page itself is asked for anew each time.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

/**
 * Scripts, styles and data of this server only. Pictures that a message names by an address are asked for when somebody clicks on them, so
 * those may come from elsewhere; nothing else may.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: https:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const ALWAYS = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }
/** As vite names what it makes. */
const HASHED = /-[\w-]{8}\.\w+$/
const FOR_EVER = 'public, max-age=31536000, immutable'

interface WebFile {
  readonly type: string
  readonly bytes: Buffer
  br?: Buffer
  gzip?: Buffer
}

export class WebFiles {
  readonly #files: ReadonlyMap<string, WebFile>

  private constructor(files: ReadonlyMap<string, WebFile>) {
    this.#files = files
  }

  /** Those beside this program; undefined if it was never built. */
  static open(): WebFiles | undefined {
    const root = join(dirname(createRequire(import.meta.url).resolve('holdfast/package.json')), 'dist', 'web')
    if (statSync(join(root, 'index.html'), { throwIfNoEntry: false }) === undefined) return undefined
    const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => TYPES[extname(name)] !== undefined)
    return new WebFiles(
      new Map(
        names.map((name) => [
          `/${name.replaceAll('\\', '/')}`,
          { type: TYPES[extname(name)] as string, bytes: readFileSync(join(root, name)) },
        ]),
      ),
    )
  }

  /** The page, whichever of its places is asked for: it finds out itself. */
  page(accepted: string | undefined, headers: Readonly<Record<string, string>> = {}, status = 200): Response {
    const file = this.#files.get('/index.html') as WebFile
    return answer(file, accepted, { 'cache-control': 'no-cache', 'content-security-policy': POLICY, ...headers }, status)
  }

  /** Undefined if there is no such file. */
  file(path: string, accepted: string | undefined): Response | undefined {
    const file = this.#files.get(path)
    return file === undefined ? undefined : answer(file, accepted, { 'cache-control': HASHED.test(path) ? FOR_EVER : 'no-cache' })
  }
}

function answer(file: WebFile, accepted = '', headers: Readonly<Record<string, string>>, status = 200): Response {
  const [encoding, bytes] = encoded(file, accepted)
  return new Response(new Uint8Array(bytes), {
    status,
    headers: {
      'content-type': file.type,
      ...ALWAYS,
      ...headers,
      ...(encoding === undefined ? {} : { 'content-encoding': encoding, vary: 'Accept-Encoding' }),
    },
  })
}

function encoded(file: WebFile, accepted: string): ['br' | 'gzip' | undefined, Buffer] {
  if (/\bbr\b/.test(accepted)) {
    file.br ??= brotliCompressSync(file.bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })
    return ['br', file.br]
  }
  if (/\bgzip\b/.test(accepted)) {
    file.gzip ??= gzipSync(file.bytes)
    return ['gzip', file.gzip]
  }
  return [undefined, file.bytes]
}
