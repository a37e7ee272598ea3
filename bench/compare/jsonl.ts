/** A file for each session and a line for each message: what most agents do. */
import { appendFile, copyFile, mkdir, open, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Contender, Message, Sessions } from './contender.ts'

export const jsonl: Contender = {
  name: 'JSONL',
  about: 'the same without `flush`',
  keeps: 'write',
  open: (directory) => openJsonl(directory, false),
}

export const jsonlFlushed: Contender = {
  name: 'JSONL, flushed',
  about:
    '`appendFile` of one line to a file of the session, with `flush: true`; lines that cannot be parsed are passed over when it is read; the directory is not synced, so that a session which was just made may vanish with its name',
  keeps: 'sync',
  open: (directory) => openJsonl(directory, true),
}

async function openJsonl(directory: string, flush: boolean): Promise<Sessions> {
  await mkdir(directory, { recursive: true })
  return new JsonlSessions(directory, flush)
}

class JsonlSessions implements Sessions {
  readonly #directory: string
  readonly #flush: boolean

  constructor(directory: string, flush: boolean) {
    this.#directory = directory
    this.#flush = flush
  }

  append(session: string, message: Message): Promise<void> {
    return this.fill(session, [message])
  }

  fill(session: string, messages: readonly Message[]): Promise<void> {
    const lines = messages.map((message) => `${JSON.stringify(message)}\n`)
    // Node has had the option since 20.10, and the types of that version do not know it.
    const options: Parameters<typeof appendFile>[2] & { flush: boolean } = { flush: this.#flush }
    return appendFile(this.#file(session), lines.join(''), options)
  }

  async messages(session: string, last?: number): Promise<Message[]> {
    const lines = (await readFile(this.#file(session), 'utf8')).split('\n').slice(0, -1)
    return lines.slice(last === undefined ? 0 : -last).flatMap(parsed)
  }

  async list(limit: number): Promise<string[]> {
    const names = await readdir(this.#directory)
    const times = await Promise.all(names.map(async (name) => [name, (await stat(join(this.#directory, name))).mtimeMs] as const))
    return times
      .sort(([, a], [, b]) => b - a)
      .slice(0, limit)
      .map(([name]) => name.replace('.jsonl', ''))
  }

  async search(word: string, limit: number): Promise<string[]> {
    const found: string[] = []
    for (const name of await readdir(this.#directory)) {
      for (const line of (await readFile(join(this.#directory, name), 'utf8')).split('\n')) {
        if (!line.includes(word)) continue
        found.push(...parsed(line).map(({ id }) => id))
        if (found.length >= limit) return found
      }
    }
    return found
  }

  async fork(session: string, as: string): Promise<void> {
    await copyFile(this.#file(session), this.#file(as))
    if (!this.#flush) return
    const copy = await open(this.#file(as), 'r+')
    await copy.sync()
    await copy.close()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  #file(session: string): string {
    return join(this.#directory, `${session}.jsonl`)
  }
}

function parsed(line: string): Message[] {
  try {
    return [JSON.parse(line) as Message]
  } catch {
    return []
  }
}
