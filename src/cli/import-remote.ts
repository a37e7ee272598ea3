/**
 * `import` into a store at a server. A file is sent as it is, and read there; those that others come from go first. What a server cannot take as
 * one file, a directory or what an interrupted save left, is read here, and sent as an export: it says the same.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { RemoteStore } from '../client/store.ts'
import { isoTime, systemClock } from '../engine/clock.ts'
import { HoldfastError } from '../errors.ts'
import { left } from '../store/import/import.ts'
import { parentsFirst } from '../store/import/order.ts'
import type { ImportedSession, ImportOptions } from '../store/import/report.ts'
import { openStore } from '../store/open-store.ts'
import type { Source, SourceFile } from '../transfer/item.ts'

/** More than that no server takes, however well it is compressed. */
const MOST_BYTES = 256 * 1024 * 1024
const COMPRESSED_FROM_BYTES = 64 * 1024

export async function* importAtServer(
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
    if (file === undefined || more.length > 0 || source.orphan === true) return await sendRead(store, source, options)
    return await store.importFile(source.name, await bytesOf(file), options)
  } catch (error) {
    // One that cannot be sent, or is of no use there, holds up no other.
    const own = ['PAYLOAD_TOO_LARGE', 'INVALID_ARGUMENT', 'UNREADABLE']
    if (!(error instanceof HoldfastError) || !own.includes(error.code)) throw error
    return [left(source, null, error.message)]
  }
}

/** Reads a source here, into memory, and sends what came of it. What was found on the way is told as if it had been read there. */
async function sendRead(store: RemoteStore, source: Source, options: ImportOptions): Promise<ImportedSession[]> {
  await using here = await openStore('memory:', { clock: { ...systemClock, now: () => 0 } })
  const read: ImportedSession[] = []
  for await (const report of here.import([source], options.from === undefined ? {} : { from: options.from })) read.push(report)
  if (!read.some(({ session }) => session !== null)) return read
  const pieces: Buffer[] = []
  for await (const piece of here.export()) pieces.push(Buffer.from(piece.replace(/.+/g, withoutNow)))
  const sent = await store.importFile(`${source.name}.jsonl`, await fitting(Buffer.concat(pieces)), { ...options, from: 'holdfast' })
  return read.map((report) => {
    const there = sent.find(({ session }) => session === report.session)
    if (there === undefined) return report
    return { ...report, messages: there.messages, skipped: there.skipped + report.skipped, note: there.note ?? report.note }
  })
}

const NOW = isoTime(0)

/**
 * What has no time in the source happened when it was imported, which is different each time; but what is sent must always be the same, so that it
 * happens once. So it is told without one, and the server has it happen when it comes.
 */
function withoutNow(line: string): string {
  if (!line.includes(NOW)) return line
  const { at, outcome, ...item } = JSON.parse(line) as { at?: string; outcome?: { endedAt?: string } }
  const { endedAt, ...ended } = outcome ?? {}
  return JSON.stringify({
    ...item,
    ...(at === NOW ? {} : { at }),
    ...(outcome === undefined ? {} : { outcome: { ...ended, ...(endedAt === NOW ? {} : { endedAt }) } }),
  })
}

async function bytesOf(file: SourceFile): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const chunk of file.read()) {
    length += chunk.length
    if (length > MOST_BYTES) throw tooLarge()
    pieces.push(Buffer.from(chunk))
  }
  return fitting(Buffer.concat(pieces))
}

async function fitting(bytes: Buffer): Promise<Uint8Array> {
  if (bytes.length > MOST_BYTES) throw tooLarge()
  return bytes.length < COMPRESSED_FROM_BYTES ? bytes : promisify(gzip)(bytes, { level: 1 })
}

function tooLarge(): HoldfastError {
  const message = `It has more than ${MOST_BYTES} bytes, which no server takes. Split it, or import it where the store is.`
  return new HoldfastError('PAYLOAD_TOO_LARGE', message, { details: { limit: MOST_BYTES } })
}
