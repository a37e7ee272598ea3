/**
 * Tar archives, as far as a directory of sessions needs them: regular files, with names of any length (as pax or GNU tar write them). Everything
 * else in one is passed over. One that is cut off gives what is there. One that would cost too much to read is refused (`budget.ts`).
 *
 *     header, 512 bytes: name 100 · … · size 12, octal, at 124 · checksum 8 at 148 · type 1 at 156 · "ustar" at 257 · prefix 155 at 345
 *     content, up to a whole number of 512 bytes
 */
import type { Budget } from './budget.ts'

export interface TarFile {
  readonly path: string
  readonly bytes: Uint8Array
}

const BLOCK = 512
/** What a pax header may have besides a path: times, and names of owners. */
const PAX_OTHERS = 4096
const [REGULAR, OLD_REGULAR, PAX, LONG_NAME] = ['0', '\0', 'x', 'L']

export function isTar(head: Uint8Array): boolean {
  return head.length >= 262 && Buffer.from(head.buffer, head.byteOffset + 257, 5).toString('latin1') === 'ustar'
}

/** A generator, so that its caller can let other work run between two files. */
export function* filesInTar(archive: Buffer, budget: Budget): Generator<TarFile> {
  let named: string | undefined
  for (let at = 0; at + BLOCK <= archive.length; ) {
    const header = archive.subarray(at, at + BLOCK)
    const size = Number.parseInt(textAt(header, 124, 12).trim() || '0', 8)
    if (!isTar(header) || !Number.isSafeInteger(size) || size < 0) break
    budget.addFile()
    const content = archive.subarray(at + BLOCK, at + BLOCK + size)
    const type = String.fromCharCode(header[156] as number)
    if (type === PAX || type === LONG_NAME) budget.checkPathLength(size - PAX_OTHERS)
    if (type === PAX) named = pathInPax(content) ?? named
    else if (type === LONG_NAME) named = textAt(content, 0, size)
    else {
      const prefix = textAt(header, 345, 155)
      const path = cleaned(named ?? `${prefix === '' ? '' : `${prefix}/`}${textAt(header, 0, 100)}`, budget)
      if ((type === REGULAR || type === OLD_REGULAR) && path !== '') yield { path, bytes: content }
      named = undefined
    }
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK
  }
}

export function tarOf(files: readonly TarFile[]): Buffer {
  const blocks: Buffer[] = []
  const add = (name: string, type: string, content: Uint8Array): void => {
    blocks.push(headerOf(name, type, content.length), Buffer.from(content), Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK))
  }
  for (const { path, bytes } of files) {
    if (Buffer.byteLength(path) > 100 || /[^\x20-\x7e]/.test(path)) add('pax', PAX, paxOf(path))
    add(Buffer.from(path).subarray(0, 100).toString('latin1'), REGULAR, bytes)
  }
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)])
}

function headerOf(name: string, type: string, size: number): Buffer {
  const header = Buffer.alloc(BLOCK)
  header.write(name, 0, 100, 'latin1')
  header.write('0000600\0', 100, 'latin1')
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124, 'latin1')
  header.write(' '.repeat(8), 148, 'latin1')
  header.write(type, 156, 'latin1')
  header.write('ustar\x0000', 257, 'latin1')
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return header
}

/** One record, "LENGTH path=NAME\n", whose length counts its own digits. */
function paxOf(path: string): Buffer {
  const rest = Buffer.byteLength(` path=${path}\n`)
  let length = rest
  while (length !== rest + String(length).length) length = rest + String(length).length
  return Buffer.from(`${length} path=${path}\n`)
}

function pathInPax(content: Buffer): string | undefined {
  return /(?:^|\n)\d+ path=([^\n]*)\n/.exec(content.toString('utf8'))?.[1]
}

function textAt(bytes: Buffer, from: number, length: number): string {
  const text = bytes.subarray(from, from + length).toString('utf8')
  const end = text.indexOf('\0')
  return end === -1 ? text : text.slice(0, end)
}

/** A path below the archive, whatever it says: nothing is written to it. */
function cleaned(path: string, budget: Budget): string {
  budget.checkPathLength(path.length)
  const parts = path.split('/').filter((part) => part !== '' && part !== '.' && part !== '..')
  budget.checkDepth(parts.length - 1)
  return parts.join('/')
}
