/**
 * Sources from bytes that a caller sent: they never touch a disk. What is compressed is decompressed as it is read, within a limit; what is a
 * tar archive has the files of a directory, or of a whole home folder.
 */
import { setImmediate } from 'node:timers/promises'
import { Budget, tooLarge } from '../formats/budget.ts'
import { directoriesAbove, firstPosition, isLog, isOrphan, journalsDirectory, sessionDirectoriesOf } from '../formats/file-names.ts'
import type { Source, SourceFile } from '../formats/item.ts'
import { type Compression, decompressor, plain } from '../formats/plain.ts'
import { filesInTar, isTar, type TarFile } from '../formats/tar.ts'

export interface BytesLimits {
  /** The largest length of the bytes. Defaults to 64 MiB. It holds for a decompressed archive, too, which is in memory. */
  readonly bytes?: number
  /** The largest length after decompression, of an archive and of what is compressed inside it together. Defaults to 256 MiB. */
  readonly decompressedBytes?: number
  /** The most files in an archive. Defaults to 10,000. */
  readonly files?: number
}

const MAGIC: readonly (readonly [Compression, readonly number[]])[] = [
  ['gzip', [0x1f, 0x8b]],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
]
const READ_BYTES = 65_536
/** Bytes that are read before others have their turn. */
const BYTES_AT_ONCE = 2 * READ_BYTES
const MOST_BYTES = 64 * 1024 * 1024
/** Files of an archive that are looked at before others have their turn: a deep path takes some 10 µs. */
const FILES_AT_ONCE = 200
const ARCHIVE_ENDING = /\.(?:tar(?:\.gz|\.zst)?|tgz)$/i
const STORE_FILE = /(?:^|\/)holdfast\.json$/
/** The length of compressed bytes is known only after they are decompressed. Logs are about ten times as long. */
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
  return new Upload(limits).source(name, bytes)
}

/**
 * Makes sources for `importInto` from the bytes of one file, or of all files of a tar archive, compressed or not.
 *
 * @param name The name of the file or archive.
 * @param limits `bytes` defaults to 64 MiB, also for a decompressed archive. `decompressedBytes` defaults to 256 MiB, `files` to 10,000.
 * @returns The sources. They touch no disk.
 * @throws HoldfastError PAYLOAD_TOO_LARGE when the file or archive exceeds a limit. Nothing was imported then: everything that is compressed was read once before the first source is returned.
 * @example
 * for await (const report of importInto(store, bytesSources('sessions.tar.gz', bytes))) console.log(report.session)
 */
export async function* bytesSources(name: string, bytes: Uint8Array, limits: BytesLimits = {}): AsyncGenerator<Source> {
  const upload = new Upload(limits)
  const source = upload.source(name, bytes)
  const archive = await upload.archiveIn(source.files[0] as SourceFile)
  const sources =
    archive === undefined ? [source] : await sourcesIn(name.replace(ARCHIVE_ENDING, ''), await upload.filesIn(archive), upload)
  await upload.measure()
  yield* sources
}

/** What was sent as one: all its layers have one budget. */
class Upload {
  readonly #budget: Budget
  readonly #mostBytes: number
  readonly #compressed: SourceFile[] = []

  constructor({ bytes = MOST_BYTES, decompressedBytes, files }: BytesLimits) {
    this.#mostBytes = bytes
    this.#budget = new Budget({
      ...(decompressedBytes === undefined ? {} : { bytes: decompressedBytes }),
      ...(files === undefined ? {} : { files }),
    })
  }

  source(name: string, bytes: Uint8Array): Source {
    const most = this.#mostBytes
    if (bytes.length > most) throw tooLarge(`It has ${bytes.length} bytes; the limit is ${most}.`, most)
    const [compression] = MAGIC.find(([, magic]) => magic.every((byte, index) => bytes[index] === byte)) ?? []
    const path = (name.split(/[/\\]/).at(-1) ?? name).replace(/\.(?:gz|zst)$/i, '')
    const file = compression === undefined ? plainFile(path, bytes) : this.#compressedFile(path, bytes, compression)
    return { name, files: [file], ...(isOrphan(path) ? { orphan: true } : {}) }
  }

  /** The bytes of a tar archive; undefined if the file is none. */
  async archiveIn(file: SourceFile): Promise<Buffer | undefined> {
    const parts: Uint8Array[] = []
    let length = 0
    for await (const chunk of file.read()) {
      if (length === 0 && !isTar(chunk)) return undefined
      length += chunk.length
      if (length > this.#mostBytes) throw tooLarge(`The archive has more than ${this.#mostBytes} bytes.`, this.#mostBytes)
      parts.push(chunk)
    }
    return length === 0 ? undefined : Buffer.concat(parts)
  }

  async filesIn(archive: Buffer): Promise<TarFile[]> {
    const files: TarFile[] = []
    for await (const file of inSlices(filesInTar(archive, this.#budget))) files.push(file)
    return files
  }

  /** Reads everything that is compressed, so that what exceeds the budget is refused before any of it is imported. */
  async measure(): Promise<void> {
    for (const { read } of this.#compressed) for await (const _ of read());
  }

  #compressedFile(path: string, bytes: Uint8Array, compression: Compression): SourceFile {
    // Told at once where it cannot be read at all.
    decompressor(compression).destroy()
    let fault: string | undefined
    // Reading it again costs the budget nothing.
    let counted = 0
    const count = (length: number): void => {
      if (length <= counted) return
      this.#budget.addBytes(length - counted)
      counted = length
    }
    const read = async function* (): AsyncGenerator<Uint8Array> {
      let length = 0
      fault = undefined
      for await (const chunk of plain(piecesOf(bytes), { compression, onFault: (why) => (fault = why) })) {
        length += chunk.length
        count(length)
        yield chunk
      }
    }
    const estimate = Math.min(EXPANSION * bytes.length, this.#budget.limits.bytes)
    const file: SourceFile = {
      path,
      // Known when it was read once.
      get size() {
        return counted > 0 ? counted : estimate
      },
      read,
      fault: () => fault,
    }
    this.#compressed.push(file)
    return file
  }
}

/** As a directory with these files would be looked through. */
async function sourcesIn(name: string, files: readonly TarFile[], upload: Upload): Promise<Source[]> {
  const nameOf = (directory: string): string => (directory === '' ? name : `${name}/${directory}`)
  const sourceOf = (directory: string, own: readonly TarFile[]): Source => {
    const cut = directory === '' ? 0 : directory.length + 1
    return { name: nameOf(directory), files: own.map(({ path, bytes }) => plainFile(path.slice(cut), bytes)) }
  }
  const sessions = new Set<string>()
  for await (const { path } of inSlices(files)) for (const directory of sessionDirectoriesOf(path)) sessions.add(directory)
  // The outermost one: what is inside a session belongs to it.
  const bySession = await groupedBy(files, ({ path }) => directoriesAbove(path).find((directory) => sessions.has(directory)))
  const others = bySession.get(undefined) ?? []
  const byJournals = await groupedBy(others, ({ path }) => (firstPosition(path) === undefined ? undefined : journalsDirectory(path)))
  const stores = new Set(others.flatMap(({ path }) => (STORE_FILE.test(path) ? [directoriesAbove(path).at(-1) as string] : [])))
  const logs: Source[] = []
  const orphans: Source[] = []
  for await (const { path, bytes } of inSlices(byJournals.get(undefined) ?? [])) {
    if (isOfStore(path, stores)) continue
    if (isLog(path)) logs.push(upload.source(nameOf(path), bytes))
    else if (isOrphan(path)) orphans.push(upload.source(nameOf(path), bytes))
  }
  // The journals of a Holdfast store are one source for each space. What an interrupted save left comes behind the files that it was to replace.
  const groups = [...bySession, ...byJournals].flatMap(([directory, own]) => (directory === undefined ? [] : [sourceOf(directory, own)]))
  return [...groups, ...logs, ...orphans]
}

async function* inSlices<T>(items: Iterable<T>): AsyncGenerator<T> {
  let count = 0
  for (const item of items) {
    yield item
    if (++count % FILES_AT_ONCE === 0) await setImmediate()
  }
}

async function groupedBy<K>(files: readonly TarFile[], keyOf: (file: TarFile) => K): Promise<Map<K, TarFile[]>> {
  const groups = new Map<K, TarFile[]>()
  for await (const file of inSlices(files)) {
    const key = keyOf(file)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [file])
    else group.push(file)
  }
  return groups
}

/** Whether a file is one that names a store, or is derived from its journals. */
function isOfStore(path: string, stores: ReadonlySet<string>): boolean {
  return directoriesAbove(path).some((directory) => {
    const below = directory === '' ? path : path.slice(directory.length + 1)
    return stores.has(directory) && /^(?:holdfast\.json$|(?:feed|watermarks|sessions)\/)/.test(below)
  })
}

function plainFile(path: string, bytes: Uint8Array): SourceFile {
  return { path, size: bytes.length, read: () => piecesOf(bytes) }
}

/** Others have their turn in between: a piece may take milliseconds to be read. */
async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += READ_BYTES) {
    if (at % BYTES_AT_ONCE === 0) await setImmediate()
    yield bytes.subarray(at, at + READ_BYTES)
  }
}
