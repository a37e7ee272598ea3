/**
 * Has sources read by another thread, so that reading them, which is most of the work, goes on while this one writes. The thread sees no
 * disk: this one hands it the bytes, whatever they come from, and takes what is ready. Neither gets far ahead of the other.
 */
import { Worker } from 'node:worker_threads'
import { HoldfastError } from '../../errors.ts'
import type { Source, SourceFile } from '../../transfer/item.ts'
import type { Ready } from '../../transfer/ready.ts'

/** Chunks that were asked for, and bunches that were handed out, at a time. */
export const UNDER_WAY = 4

export type ToReader =
  | { readonly kind: 'source'; readonly importer: string; readonly name: string; readonly files: readonly Omit<SourceFile, 'read'>[] }
  /** Without bytes: the file ends. */
  | { readonly kind: 'chunk'; readonly bytes?: Uint8Array }
  | { readonly kind: 'taken' }

export type FromReader =
  /** From now on, chunks of this file are wanted. */
  | { readonly kind: 'open'; readonly file: number }
  /** With the memory of a chunk that is no longer needed. */
  | { readonly kind: 'more'; readonly used?: ArrayBuffer }
  | { readonly kind: 'items'; readonly items: Ready[] }
  | { readonly kind: 'done' }

export class ReaderThread {
  #worker: Worker | undefined

  /** What is ready of a source. One at a time. */
  async *read(importer: string, source: Source): AsyncGenerator<Ready[]> {
    this.#worker ??= start()
    const worker = this.#worker
    const ready: Ready[][] = []
    const supply = new Supply(source, (message, memory) => worker.postMessage(message, memory))
    let [done, failure] = [false, undefined as unknown]
    let wake: () => void = () => undefined
    const onMessage = (message: FromReader): void => {
      if (message.kind === 'open') supply.open(message.file)
      else if (message.kind === 'more') supply.more(message.used).catch(onError)
      else if (message.kind === 'items') ready.push(message.items)
      else done = true
      wake()
    }
    const onError = (error: unknown): void => {
      failure ??= error
      wake()
    }
    const onExit = (): void => onError(new HoldfastError('UNAVAILABLE', 'The thread that reads for the import has ended. Import again.'))
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
    try {
      const files = source.files.map(({ path, size }) => ({ path, size }))
      worker.postMessage({ kind: 'source', importer, name: source.name, files } satisfies ToReader)
      for (;;) {
        const items = ready.shift()
        if (failure !== undefined) throw failure
        if (items === undefined && done) return
        if (items === undefined) {
          await new Promise<void>((resolve) => (wake = resolve))
          continue
        }
        yield items
        worker.postMessage({ kind: 'taken' } satisfies ToReader)
      }
    } finally {
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      await supply.close()
      // One that was left in the middle of a source is of no use for the next.
      if (!done) await this.close()
    }
  }

  async close(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }
}

function start(): Worker {
  // In the bundle of the command line, all files are CommonJS.
  const file = import.meta.url.endsWith('.cjs') ? './reader-thread.cjs' : './reader-thread.js'
  // It makes much that is soon garbage, and little that stays.
  return new Worker(new URL(file, import.meta.url), {
    resourceLimits: { maxYoungGenerationSizeMb: 12 },
    // What the process was started with, such as a text to run, is not for it.
    execArgv: [],
  })
}

/** The bytes of a source's files, chunk by chunk, in the order in which they are asked for. */
class Supply {
  readonly #source: Source
  readonly #tell: (message: ToReader, memory: ArrayBuffer[]) => void
  #chunks: AsyncIterator<Uint8Array> | undefined
  #turn: Promise<void> = Promise.resolve()

  constructor(source: Source, tell: (message: ToReader, memory: ArrayBuffer[]) => void) {
    this.#source = source
    this.#tell = tell
  }

  open(file: number): void {
    this.#turn = this.#turn.then(async () => {
      await this.#chunks?.return?.()
      this.#chunks = (this.#source.files[file] as SourceFile).read()[Symbol.asyncIterator]()
    })
  }

  more(used?: ArrayBuffer): Promise<void> {
    this.#turn = this.#turn.then(async () => {
      const { done, value } = (await this.#chunks?.next()) ?? { done: true, value: undefined }
      if (done === true) return this.#tell({ kind: 'chunk' }, [])
      // Copied: whoever reads may use its memory for the next chunk.
      const memory = used !== undefined && used.byteLength >= value.length ? used : new ArrayBuffer(value.length)
      const bytes = new Uint8Array(memory, 0, value.length)
      bytes.set(value)
      this.#tell({ kind: 'chunk', bytes }, [memory])
    })
    return this.#turn
  }

  async close(): Promise<void> {
    await this.#turn.catch(() => undefined)
    await this.#chunks?.return?.()
  }
}
