/**
 * `append --jsonl`: many messages are under way at once, each its own record, and each is acknowledged in order as soon as it is durable.
 * Behind a line that is refused none is appended, so a stream that is sent again with the same ids goes on where it stopped.
 */
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { HoldfastError } from '../errors.ts'
import { withoutUndefined } from '../server/without-undefined.ts'
import type { SessionApi } from '../store/api/session-api.ts'
import type { Appended } from '../store/messages/append.ts'
import { Chain } from '../store/messages/chain.ts'
import { acknowledge } from './acknowledge.ts'
import { wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'
import { type MessageLine, readMessages } from './message-lines.ts'

/** How much may be under way: enough that one sync serves many, little enough to hold in memory. */
const UNDER_WAY = 1000
const UNDER_WAY_BYTES = 16 * 1024 * 1024

interface StreamOptions {
  readonly from: string
  readonly role: string
  /** The version that the session must have before the first message. */
  readonly expect: string | undefined
}

export async function appendStream(context: Context, id: string, { from, role, expect }: StreamOptions): Promise<void> {
  const { out } = context
  const session = (await context.write()).session<object>(id)
  const stream = new Stream(context, session, context.isRemote || (await isFork(session)) ? 1 : UNDER_WAY)
  const input = await openInput(from)
  let bad: { readonly error: unknown } | undefined
  try {
    for await (const line of readMessages(input, role, stream.signal)) await stream.append(line, expect)
  } catch (error) {
    bad = { error }
  }
  // What stands in front of a bad line is acknowledged first; if the store refused one of them, that is what went wrong.
  const { appended, duplicates } = await stream.finish()
  if (bad !== undefined) throw bad.error
  if (out.gone) {
    out.warn(`Nobody reads the acknowledgements any longer; stopped after ${appended + duplicates} messages.`)
    process.exitCode = 1
  } else out.note(`${appended} appended, ${duplicates} there already.`)
}

/** What a fork inherited has to be looked up for each message, which takes as long as it takes: one at a time keeps them in order. */
async function isFork(session: SessionApi<object>): Promise<boolean> {
  try {
    return (await session.info()).parent?.kind === 'fork'
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'NOT_FOUND') return false
    throw error
  }
}

async function openInput(from: string): Promise<Readable> {
  if (from === '-') return process.stdin
  const file = createReadStream(from)
  await new Promise<void>((resolve, reject) => {
    file.once('ready', resolve)
    file.once('error', (error) => reject(wrongUsage(`The file ${from} cannot be read: ${error.message}`)))
  })
  return file
}

class Stream {
  readonly #context: Context
  readonly #session: SessionApi<object>
  readonly #limit: number
  /** At a server one goes after the other; here many are under way, in order. */
  readonly #chain: { readonly chain?: Chain }
  readonly #failed = new AbortController()
  readonly #progress
  /** Comes: nothing more is to be read. */
  readonly signal: AbortSignal
  #failure: { readonly error: unknown } | undefined
  #first = true
  #count = 0
  #bytes = 0
  #room: (() => void) | undefined
  /** Resolves when everything so far is acknowledged, or will never be. */
  #acknowledged: Promise<void> = Promise.resolve()
  #appended = 0
  #duplicates = 0

  constructor(context: Context, session: SessionApi<object>, limit: number) {
    this.#context = context
    this.#session = session
    this.#limit = limit
    this.#chain = context.isRemote ? {} : { chain: new Chain() }
    this.#progress = context.out.progress()
    this.signal = AbortSignal.any([context.signal, this.#failed.signal])
  }

  /** Hands a message to the store; waits while there is too much under way. */
  async append({ number, message, bytes }: MessageLine, expect: string | undefined): Promise<void> {
    while (this.#count > 0 && (this.#count >= this.#limit || this.#bytes + bytes > UNDER_WAY_BYTES)) {
      await new Promise<void>((resolve) => {
        this.#room = resolve
      })
    }
    if (this.signal.aborted) return
    const appending = this.#session.append(message, { ...this.#chain, ...withoutUndefined({ expect: this.#first ? expect : undefined }) })
    this.#first = false
    this.#count++
    this.#bytes += bytes
    appending.catch(() => undefined)
    this.#acknowledged = this.#acknowledged.then(async () => {
      try {
        if (this.#failure === undefined) await this.#tell(await appending)
      } catch (error) {
        this.#failure ??= { error: inLineNumber(error, number) }
        this.#failed.abort()
      }
      this.#count--
      this.#bytes -= bytes
      this.#room?.()
    })
  }

  /** Waits for what is under way. */
  async finish(): Promise<{ appended: number; duplicates: number }> {
    await this.#acknowledged
    this.#progress.end()
    if (this.#failure !== undefined) throw this.#failure.error
    return { appended: this.#appended, duplicates: this.#duplicates }
  }

  async #tell(appended: Appended): Promise<void> {
    await acknowledge(this.#context, this.#session.id, appended)
    if (appended.duplicate) this.#duplicates++
    else this.#appended++
    this.#progress.update(`${this.#appended + this.#duplicates} messages`)
  }
}

function inLineNumber(error: unknown, line: number): unknown {
  if (!(error instanceof HoldfastError)) return error
  const { code, message, details, outcome } = error
  return new HoldfastError(code, `Line ${line}: ${message}`, { details: { line, ...details }, outcome, cause: error })
}
