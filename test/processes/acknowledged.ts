/**
 * What processes were told is durable, in files that each writes before it goes on: whoever reads them before it asks the store knows what
 * was acknowledged before its question.
 */
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const PREFIX = 'acknowledged '

export interface Acknowledged {
  /** Messages of each session. */
  readonly counts: ReadonlyMap<string, number>
  /** A word of the last message of each process, which stands in no other. */
  readonly words: readonly string[]
}

export function acknowledge(directory: string, process: string, session: string, count: number, word: string): void {
  appendFileSync(join(directory, `${PREFIX}${process}`), `${JSON.stringify([session, count, word])}\n`)
}

export function readAcknowledged(directory: string): Acknowledged {
  const counts = new Map<string, number>()
  const words: string[] = []
  for (const name of readdirSync(directory).filter((one) => one.startsWith(PREFIX))) {
    const lines = readFileSync(join(directory, name), 'utf8').split('\n').slice(0, -1)
    for (const line of lines) {
      const [session, count] = JSON.parse(line) as [string, number, string]
      counts.set(session, Math.max(count, counts.get(session) ?? 0))
    }
    const last = lines.at(-1)
    if (last !== undefined) words.push((JSON.parse(last) as [string, number, string])[2])
  }
  return { counts, words }
}
