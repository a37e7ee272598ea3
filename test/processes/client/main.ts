/** A process that does as it is told: each line of its input is a wish or a purge, each line of its output what came of it. */
import { createInterface } from 'node:readline'
import { childOptions } from '../child.ts'
import { type JournalOptions, openJournal } from '../journal.ts'
import { attempt, type LoggedWish, textOf } from '../log.ts'

export interface ClientOptions extends Pick<JournalOptions, 'directory' | 'exclusive' | 'segmentBytes'> {
  readonly name: string
}

export type Command = LoggedWish | { readonly purge: true }

const options = childOptions<ClientOptions>()
const opened = await openJournal(options)

async function obey(command: Command): Promise<unknown> {
  if ('wish' in command) {
    const wish = { name: command.wish, kind: command.kind, journal: 0, text: 'x'.repeat(command.bytes) }
    return attempt(opened, wish, { name: command.wish, process: options.name })
  }
  try {
    return { freed: await opened.journal.purge(await opened.replica.beginSegment()) }
  } catch (error) {
    return { error: textOf(error) }
  }
}

process.stdout.write('{"ready":true}\n')
for await (const line of createInterface(process.stdin)) {
  process.stdout.write(`${JSON.stringify(await obey(JSON.parse(line) as Command))}\n`)
}
await opened.engine.close()
