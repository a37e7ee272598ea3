/**
 * `import` into a store at a server. A file is sent as it is, a directory that is one session as an archive, and read there; those that others
 * come from go first.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { RemoteStore } from '../client/store.ts'
import { HoldfastError } from '../errors.ts'
import { isSessionDirectory } from '../formats/file-names.ts'
import type { Source, SourceFile } from '../formats/item.ts'
import { type TarFile, tarOf } from '../formats/tar.ts'
import { left } from '../transfer/import/import.ts'
import { parentsFirst } from '../transfer/import/order.ts'
import type { ImportedSession, ImportOptions } from '../transfer/import/report.ts'

/** More than that no server takes, however well it is compressed. */
const MOST_BYTES = 256 * 1024 * 1024
const COMPRESSED_FROM_BYTES = 64 * 1024

export async function* importRemote(
  store: RemoteStore,
  sources: AsyncIterable<Source>,
  options: ImportOptions,
): AsyncGenerator<ImportedSession> {
  const known: Source[] = []
  for await (const source of sources) known.push(source)
  let [done, messages] = [0, 0]
  for (const source of await parentsFirst(known, options.from)) {
    if (options.signal?.aborted === true) return
    for (const session of await send(store, source, options)) {
      messages += session.messages
      yield session
    }
    options.onProgress?.({ source: source.name, done: ++done, total: known.length, messages })
  }
}

async function send(store: RemoteStore, source: Source, options: ImportOptions): Promise<ImportedSession[]> {
  try {
    const [file, ...more] = source.files
    if (file !== undefined && more.length === 0 && !isSessionDirectory([file.path]))
      return await store.importFile(source.name, await fitting(await bytesOf(file)), options)
    const files: TarFile[] = []
    for (const one of source.files) files.push({ path: one.path, bytes: await bytesOf(one) })
    return await store.importFile(`${source.name}.tar`, await fitting(tarOf(files)), options)
  } catch (error) {
    // One that cannot be sent, or is of no use there, holds up no other.
    const own = ['PAYLOAD_TOO_LARGE', 'INVALID_ARGUMENT', 'UNREADABLE']
    if (!(error instanceof HoldfastError) || !own.includes(error.code)) throw error
    const report = left(source, null, error.message)
    // An argument that does not fit says nothing of the file.
    return [error.code === 'INVALID_ARGUMENT' ? report : { ...report, unreadable: true }]
  }
}

async function bytesOf(file: SourceFile): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const chunk of file.read()) {
    length += chunk.length
    if (length > MOST_BYTES) throw tooLarge()
    pieces.push(Buffer.from(chunk))
  }
  return Buffer.concat(pieces)
}

async function fitting(bytes: Buffer): Promise<Uint8Array> {
  if (bytes.length > MOST_BYTES) throw tooLarge()
  return bytes.length < COMPRESSED_FROM_BYTES ? bytes : promisify(gzip)(bytes, { level: 1 })
}

function tooLarge(): HoldfastError {
  const message = `It has more than ${MOST_BYTES} bytes, which no server takes. Split it, or import it where the store is.`
  return new HoldfastError('PAYLOAD_TOO_LARGE', message, { details: { limit: MOST_BYTES } })
}
