/** The thread that reads sources for an import: bytes come in, what is ready to be written goes out. Started by threaded.ts. */
import { parentPort } from 'node:worker_threads'
import { IMPORTERS } from '../../formats/importers.ts'
import type { Importer, Source } from '../../formats/item.ts'
import { BATCH_MEMORY_BYTES, portable, readied } from '../../formats/ready.ts'
import { type FromReader, type ToReader, UNDER_WAY } from './threaded.ts'

/** So many pieces of memory are kept for what is read next. */
const SPARE_MOST = 16

/** Who waits for a chunk; they come in the order in which they were asked for. */
const waiting: ((bytes: Uint8Array | undefined) => void)[] = []
/** Bunches that were handed out and are not taken yet, and who waits until one is. */
let handedOut = 0
let taken: (() => void) | undefined
/** Memory of messages that are written by now. */
const spare: ArrayBuffer[] = []

function tell(message: FromReader, memory: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, memory)
}

/** The bytes of a file, asked for some chunks ahead: whoever has them may be busy. */
async function* bytesOf(file: number): AsyncGenerator<Uint8Array> {
  const ask = (used?: ArrayBuffer): Promise<Uint8Array | undefined> =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (used === undefined) tell({ kind: 'more' })
      else tell({ kind: 'more', used }, [used])
    })
  tell({ kind: 'open', file })
  const asked = Array.from({ length: UNDER_WAY }, () => ask())
  try {
    for (let next = asked.shift(); next !== undefined; next = asked.shift()) {
      const bytes = await next
      if (bytes === undefined) return
      yield bytes
      // Nobody looks at it any more: its memory serves again.
      asked.push(ask(bytes.buffer as ArrayBuffer))
    }
  } finally {
    await Promise.all(asked)
  }
}

async function read(importer: Importer, { name, files }: Extract<ToReader, { kind: 'source' }>): Promise<void> {
  const source: Source = { name, files: files.map((file, index) => ({ ...file, read: () => bytesOf(index) })) }
  for await (const ready of readied(importer, source, spare)) {
    const { items, memory } = portable(ready)
    tell({ kind: 'items', items }, memory)
    if (++handedOut >= UNDER_WAY) await new Promise<void>((resolve) => (taken = resolve))
  }
  tell({ kind: 'done' })
}

parentPort?.on('message', (message: ToReader) => {
  if (message.kind === 'chunk') waiting.shift()?.(message.bytes)
  else if (message.kind === 'taken') {
    handedOut--
    taken?.()
    taken = undefined
  } else if (message.kind === 'memory') {
    if (spare.length < SPARE_MOST && message.memory.byteLength === BATCH_MEMORY_BYTES) spare.push(message.memory)
  } else {
    const importer = IMPORTERS.find(({ name }) => name === message.importer) as Importer
    read(importer, message).catch((error: unknown) => {
      throw error
    })
  }
})
