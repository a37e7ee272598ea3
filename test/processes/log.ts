/**
 * What a child was told, as lines of a file. A line is handed to the kernel, in one synchronous write, before the child goes on: a
 * child that is killed takes nothing with it that it had been told.
 */
import { openSync, readFileSync, writeSync } from 'node:fs'
import { HoldfastError } from '../../src/errors.ts'
import { type Attempt, attemptWith, type Kind, type Wish } from '../simulation/client.ts'
import type { Seen } from '../simulation/reducer.ts'
import type { OpenedJournal } from './journal.ts'

/** An attempt that came to an end. `error` is text, since it went through a file. */
export interface LoggedAttempt extends Attempt {
  readonly error: string | undefined
  readonly code: string | undefined
}

/** A wish before its first attempt: whoever takes over from a dead process finds what that one had wanted. */
export interface LoggedWish {
  readonly wish: string
  readonly kind: Kind
  readonly bytes: number
}

/** A record that a follower has shown. */
interface Shown {
  readonly at: number
  readonly id: string
}

export type LogLine =
  | { readonly attempt: LoggedAttempt }
  | { readonly wanted: LoggedWish }
  | { readonly shown: Shown }
  /** Something that a child came across, for the test to count or to wonder at. */
  | { readonly note: string }

export class Log {
  readonly #fd: number
  /** Lines added so far. */
  lines = 0

  constructor(path: string) {
    this.#fd = openSync(path, 'a')
  }

  add(line: LogLine): void {
    this.lines++
    writeSync(this.#fd, `${JSON.stringify(line)}\n`)
  }
}

export function readLog(path: string): LogLine[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  // Behind the last newline there is nothing, or half a line of a child that was killed.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as LogLine)
}

export function attemptsOf(lines: readonly LogLine[]): LoggedAttempt[] {
  return lines.flatMap((line) => ('attempt' in line ? [line.attempt] : []))
}

/** Microseconds on a clock that all processes of the machine share, so that "acknowledged before" means something between them. */
function nowUs(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

const never = new Promise<void>(() => undefined)

/** Makes one attempt, and returns what it was told in a form that can be logged. */
export async function attempt(
  { replica }: OpenedJournal,
  wish: Wish,
  { name, process, expected }: { name: string; process: string; expected?: number | undefined },
): Promise<LoggedAttempt> {
  const made: Attempt = {
    name,
    wish: wish.name,
    kind: wish.kind,
    journal: wish.journal,
    process,
    begun: nowUs(),
    ended: Number.POSITIVE_INFINITY,
    told: 'unknown',
    at: -1,
    seen: undefined as Seen | undefined,
    expected,
    error: undefined,
  }
  await attemptWith(replica, wish, made, never, nowUs)
  return { ...made, error: textOf(made.error), code: made.error instanceof HoldfastError ? made.error.code : undefined }
}

export function textOf(error: unknown): string | undefined {
  if (error === undefined) return undefined
  if (error instanceof HoldfastError) return `${error.code} (outcome ${error.outcome}): ${error.message} ${String(error.cause ?? '')}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
