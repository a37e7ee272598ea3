/**
 * Sources from bytes that somebody sent: they never touch a disk. What is compressed is decompressed as it is read, within a limit; what is a
 * tar archive has the files of a directory, or of a whole home folder.
 */
import { HoldfastError } from '../errors.ts'
import { firstPosition, isLog, isOrphan, isSessionDirectory, journalsDirectory } from './file-names.ts'
import type { Source, SourceFile } from './item.ts'
import { type Compression, decompressor, plain } from './plain.ts'
import { filesInTar, isTar, type TarFile } from './tar.ts'

export interface BytesLimits {
  /** The largest length of the bytes. Defaults to 64 MiB. It holds for a decompressed archive, too, which is in memory. */
  readonly bytes?: number
  /** The largest length after decompression. Defaults to 256 MiB. */
  readonly decompressedBytes?: number
}

const MAGIC: readonly (readonly [Compression, readonly number[]])[] = [
  ['gzip', [0x1f, 0x8b]],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
]
const READ_BYTES = 65_536
/** Of what is compressed nobody knows how long it is: logs are about ten times as long. */
export const EXPANSION = 10

/**
 * Makes a source for `importInto` from the bytes of one file, plain or compressed.
 *
 * @param name The name of the file. Some formats are recognised by it.
 * @param limits `bytes` defaults to 64 MiB, `decompressedBytes` to 256 MiB.
 * @returns The source. It touches no disk.
 * @throws HoldfastError PAYLOAD_TOO_LARGE when the file exceeds a limit, at once or while it is read.
 * @example
 * for await (const report of importInto(store, [bytesSource('rollout.jsonl', bytes)])) console.log(report.session)
 */
export function bytesSource(name: string, bytes: Uint8Array, limits: BytesLimits = {}): Source {
  const { bytes: most = 64 * 1024 * 1024, decompressedBytes = 256 * 1024 * 1024 } = limits
  if (bytes.length > most) throw tooLarge(`It has ${bytes.length} bytes; the limit is ${most}.`, most)
  const [compression] = MAGIC.find(([, magic]) => magic.every((byte, index) => bytes[index] === byte)) ?? []
  const path = (name.split(/[/\\]/).at(-1) ?? name).replace(/\.(?:gz|zst)$/i, '')
  const file = compression === undefined ? plainFile(path, bytes) : compressedFile(path, bytes, compression, decompressedBytes)
  return { name, files: [file], ...(isOrphan(path) ? { orphan: true } : {}) }
}

/**
 * Makes sources for `importInto` from the bytes of one file, or of all files of a tar archive, compressed or not.
 *
 * @param name The name of the file or archive.
 * @param limits `bytes` defaults to 64 MiB, also for a decompressed archive. `decompressedBytes` defaults to 256 MiB.
 * @returns The sources. They touch no disk.
 * @throws HoldfastError PAYLOAD_TOO_LARGE when the file or archive exceeds a limit.
 * @example
 * for await (const report of importInto(store, bytesSources('sessions.tar.gz', bytes))) console.log(report.session)
 */
export async function* bytesSources(name: string, bytes: Uint8Array, limits: BytesLimits = {}): AsyncGenerator<Source> {
  const source = bytesSource(name, bytes, limits)
  const [file] = source.files as [SourceFile]
  const parts: Uint8Array[] = []
  let length = 0
  const { bytes: most = 64 * 1024 * 1024 } = limits
  for await (const chunk of file.read()) {
    if (length === 0 && !isTar(chunk)) return yield source
    length += chunk.length
    if (length > most) throw tooLarge(`The archive has more than ${most} bytes.`, most)
    parts.push(chunk)
  }
  if (length === 0) return yield source
  yield* sourcesIn(name.replace(/\.(?:tar(?:\.gz|\.zst)?|tgz)$/i, ''), filesInTar(Buffer.concat(parts)))
}

/** As a directory with these files would be looked through. */
function* sourcesIn(name: string, files: readonly TarFile[]): Generator<Source> {
  const directoryOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))
  const below = (directory: string): TarFile[] => files.filter(({ path }) => directory === '' || path.startsWith(`${directory}/`))
  const directories = new Set(files.flatMap(({ path }) => ancestorsOf(directoryOf(path))))
  const sessions = [...directories].filter((directory) =>
    isSessionDirectory(below(directory).map(({ path }) => path.slice(directory === '' ? 0 : directory.length + 1))),
  )
  const outermost = sessions.filter((one) => !sessions.some((other) => other !== one && (other === '' || one.startsWith(`${other}/`))))
  for (const directory of outermost) {
    const cut = directory === '' ? 0 : directory.length + 1
    const own = below(directory).map(({ path, bytes }) => plainFile(path.slice(cut), bytes))
    yield { name: directory === '' ? name : `${name}/${directory}`, files: own }
  }
  const others = files.filter(({ path }) => !outermost.some((directory) => directory === '' || path.startsWith(`${directory}/`)))
  yield* journalsIn(name, others)
  const stores = others.flatMap(({ path }) => (/(?:^|\/)holdfast\.json$/.test(path) ? [directoryOf(path)] : []))
  const rest = others.filter(({ path }) => firstPosition(path) === undefined && !stores.some((store) => isOfStore(path, store)))
  // What an interrupted save left comes behind the files that it was to replace.
  const ordered = [...rest.filter(({ path }) => isLog(path)), ...rest.filter(({ path }) => isOrphan(path))]
  for (const { path, bytes } of ordered) yield bytesSource(`${name}/${path}`, bytes)
}

/** Whether a file is one that names a store, or is derived from its journals. */
function isOfStore(path: string, store: string): boolean {
  const below = store === '' ? path : path.startsWith(`${store}/`) ? path.slice(store.length + 1) : '/'
  return below === 'holdfast.json' || /^(?:feed|watermarks|sessions)\//.test(below)
}

/** The journals of a Holdfast store, one source for each space. */
function* journalsIn(name: string, files: readonly TarFile[]): Generator<Source> {
  const segments = files.filter(({ path }) => firstPosition(path) !== undefined)
  for (const directory of new Set(segments.map(({ path }) => journalsDirectory(path)))) {
    const cut = directory === '' ? 0 : directory.length + 1
    const own = segments.filter(({ path }) => journalsDirectory(path) === directory)
    yield {
      name: directory === '' ? name : `${name}/${directory}`,
      files: own.map(({ path, bytes }) => plainFile(path.slice(cut), bytes)),
    }
  }
}

function ancestorsOf(directory: string): string[] {
  const parts = directory === '' ? [] : directory.split('/')
  return ['', ...parts.map((_, index) => parts.slice(0, index + 1).join('/'))]
}

function plainFile(path: string, bytes: Uint8Array): SourceFile {
  return { path, size: bytes.length, read: () => piecesOf(bytes) }
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += READ_BYTES) yield bytes.subarray(at, at + READ_BYTES)
}

function compressedFile(path: string, bytes: Uint8Array, compression: Compression, most: number): SourceFile {
  // Told at once where it cannot be read at all.
  decompressor(compression).destroy()
  let fault: string | undefined
  const read = async function* (): AsyncGenerator<Uint8Array> {
    let length = 0
    fault = undefined
    for await (const chunk of plain(piecesOf(bytes), { compression, onFault: (why) => (fault = why) })) {
      length += chunk.length
      if (length > most) throw tooLarge(`Its ${bytes.length} bytes decompress to more than ${most}.`, most)
      yield chunk
    }
  }
  return { path, size: Math.min(EXPANSION * bytes.length, most), read, fault: () => fault }
}

function tooLarge(message: string, limit: number): HoldfastError {
  return new HoldfastError('PAYLOAD_TOO_LARGE', `${message} Split it, or import it with the command line.`, { details: { limit } })
}
