/**
 * Has sources read by another thread, so that reading them, which is most of the work, goes on while this one writes. The thread sees no
 * disk: this one hands it the bytes, whatever they come from, and takes what is ready. Neither gets far ahead of the other.
 */
import { Worker } from 'node:worker_threads'
import { HoldfastError } from '../../errors.ts'
import type { Source, SourceFile } from '../../formats/item.ts'
import type { Ready } from '../../formats/ready.ts'

/** Chunks that were asked for, and bunches that were handed out, at a time. */
export const UNDER_WAY = 4
/** So long a thread waits for the next import: one that has read before has its code compiled, and reads the next source faster. */
const SPARE_MS = 10_000

export type ToReader =
  | { readonly kind: 'source'; readonly importer: string; readonly name: string; readonly files: readonly Omit<SourceFile, 'read'>[] }
  /** Without bytes: the file ends. */
  | { readonly kind: 'chunk'; readonly bytes?: Uint8Array }
  | { readonly kind: 'taken' }
  /** What messages stood in: it serves again. */
  | { readonly kind: 'memory'; readonly memory: ArrayBuffer }

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
    this.#worker ??= taken() ?? start()
    const worker = this.#worker
    const ready: Ready[][] = []
    const supply = new Supply(source, (message, memory) => worker.postMessage(message, memory))
    let [done, failure] = [false, undefined as unknown]
    let wake: () => void = () => undefined
    const onMessage = (message: FromReader): void => {
      if (message.kind === 'open') supply.open(message.file)
      else if (message.kind === 'more') supply.more(message.used).catch(onError)
      else if (message.kind === 'items') ready.push(message.items.map((item) => withRelease(item, worker)))
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
      if (!done) await this.#end()
    }
  }

  async close(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    if (worker === undefined) return
    if (spare === undefined) keep(worker)
    else await worker.terminate()
  }

  async #end(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }
}

/** What has been handed over is garbage that nobody collects before there is much of it: so it is handed back. */
function withRelease(item: Ready, worker: Worker): Ready {
  if (item.kind !== 'messages') return item
  const memory = item.bytes.buffer as ArrayBuffer
  return { ...item, release: () => worker.postMessage({ kind: 'memory', memory } satisfies ToReader, [memory]) }
}

let spare: { readonly worker: Worker; readonly timer: NodeJS.Timeout } | undefined

/** Holds up nobody who wants to exit. */
function keep(worker: Worker): void {
  const timer = setTimeout(() => {
    spare = undefined
    worker.terminate().catch(() => undefined)
  }, SPARE_MS)
  timer.unref()
  worker.unref()
  worker.once('exit', onSpareExit)
  spare = { worker, timer }
}

function onSpareExit(): void {
  clearTimeout(spare?.timer)
  spare = undefined
}

function taken(): Worker | undefined {
  if (spare === undefined) return undefined
  const { worker, timer } = spare
  spare = undefined
  clearTimeout(timer)
  worker.off('exit', onSpareExit)
  worker.ref()
  return worker
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
