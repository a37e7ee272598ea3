/**
 * What a command says. Standard output has what was asked for: one JSON object a line with --json, otherwise lines and tables for people.
 * Standard error has everything else: notes, warnings, errors, progress. A reader that goes away (`holdfast show x | head`) ends the
 * command without a complaint.
 */
import { once } from 'node:events'
import pc from 'picocolors'
import { HoldfastError } from '../errors.ts'
import { type Column, cut, inLine, jsonLine, table } from './terminal.ts'

type Colours = ReturnType<typeof pc.createColors>
type Stream = NodeJS.WriteStream

const NOT_A_TERMINAL_WIDTH = Number.POSITIVE_INFINITY
/** Work that takes less needs no progress; and eyes need no more than this. */
const PROGRESS_AFTER_MS = 400
const PROGRESS_EVERY_MS = 100

export interface Progress {
  update(text: string): void
  end(): void
}

export class Output {
  readonly json: boolean
  readonly colours: Colours
  readonly quiet: boolean
  readonly #stdout: Stream
  readonly #stderr: Stream
  readonly #warningColours: Colours
  #progressShown = false
  #gone = false

  constructor({ json, quiet, onGone }: { readonly json: boolean; readonly quiet: boolean; readonly onGone: () => void }) {
    this.json = json
    this.quiet = quiet
    this.#stdout = process.stdout
    this.#stderr = process.stderr
    this.colours = coloursFor(this.#stdout)
    this.#warningColours = coloursFor(this.#stderr)
    this.#stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EOF' && error.code !== 'ERR_STREAM_DESTROYED') throw error
      this.#gone = true
      onGone()
    })
    // Whoever does not read complaints gets none.
    this.#stderr.on('error', () => undefined)
  }

  /** Whether nobody reads standard output any longer. */
  get gone(): boolean {
    return this.#gone
  }

  /** One result: its fields for programs, its line for people. No line: people need not be told. */
  async result(fields: object, line?: (colours: Colours) => string): Promise<void> {
    if (this.json) await this.#write(`${jsonLine(fields)}\n`)
    else if (line !== undefined) await this.#write(`${line(this.colours)}\n`)
  }

  /** Text that is escaped already. */
  async text(text: string): Promise<void> {
    await this.#write(text)
  }

  /** Results that people see as a table. */
  async results<T>(
    items: readonly T[],
    fields: (item: T) => object,
    columns: readonly Column[],
    cells: (item: T) => readonly string[],
  ): Promise<void> {
    if (this.json) {
      for (const item of items) await this.result(fields(item))
    } else if (items.length > 0) {
      const width = this.#stdout.isTTY ? this.#stdout.columns || 80 : NOT_A_TERMINAL_WIDTH
      const lines = table(columns, items.map(cells), width, this.#stdout.isTTY ? this.colours.bold : String)
      await this.#write(lines.map((line) => `${line}\n`).join(''))
    }
  }

  /** For people who look on: what was done. Programs have the results. */
  note(text: string): void {
    if (!this.quiet && !this.json) this.#complain(inLine(text))
  }

  /** What somebody should look into, though the command goes on. */
  warn(message: string, details: object = {}): void {
    this.#complain(
      this.json ? jsonLine({ warning: { message, details } }) : `${this.#warningColours.yellow('warning:')} ${inLine(message)}`,
    )
  }

  /** What is there besides the results, and where to go on: not part of the results themselves. */
  aside(fields: object, text: string): void {
    if (this.json) this.#complain(jsonLine(fields))
    else this.note(text)
  }

  /** Tells why the command failed, and returns its exit code. */
  fail(error: unknown): number {
    const known = error instanceof HoldfastError
    const message = error instanceof Error ? error.message : String(error)
    if (this.json) {
      const details = known ? { ...error.details, retryable: error.retryable, outcome: error.outcome } : {}
      this.#complain(jsonLine({ error: { code: known ? error.code : 'INTERNAL', message, details } }))
    } else {
      this.#complain(`${this.#warningColours.red('error:')} ${inLine(message)}`)
      if (!known && error instanceof Error && error.stack !== undefined) this.#complain(error.stack.split('\n').map(inLine).join('\n'))
    }
    return known ? error.exitCode : 1
  }

  /** Shows that something goes on, if it takes long and somebody looks. */
  progress(): Progress {
    if (this.quiet || !this.#stderr.isTTY) return { update: () => undefined, end: () => undefined }
    let shownAt = performance.now() + PROGRESS_AFTER_MS - PROGRESS_EVERY_MS
    return {
      update: (text) => {
        const now = performance.now()
        if (now - shownAt < PROGRESS_EVERY_MS) return
        shownAt = now
        this.#clearProgress()
        this.#stderr.write(this.#warningColours.dim(cut(inLine(text), (this.#stderr.columns || 80) - 1)))
        this.#progressShown = true
      },
      end: () => this.#clearProgress(),
    }
  }

  /** Waits until everything has left the process. */
  async flush(): Promise<void> {
    this.#clearProgress()
    if (this.#gone || this.#stdout.destroyed) return
    await new Promise<void>((resolve) => {
      this.#stdout.write('', () => resolve())
      this.#stdout.once('error', () => resolve())
    })
  }

  async #write(text: string): Promise<void> {
    if (this.#gone) return
    if (this.#stdout.isTTY) this.#clearProgress()
    if (this.#stdout.write(text)) return
    await once(this.#stdout, 'drain').catch(() => undefined)
  }

  #complain(line: string): void {
    this.#clearProgress()
    this.#stderr.write(`${line}\n`)
  }

  #clearProgress(): void {
    if (this.#progressShown) this.#stderr.write('\r\x1b[2K')
    this.#progressShown = false
  }
}

/** Not what the library guesses, which takes any machine that runs tests for a terminal. */
function coloursFor(stream: Stream): Colours {
  return pc.createColors(stream.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb')
}
