/** One contender in a process of its own. Started by `player.ts`, which tells it over the channel between them what to do. */

import { rmSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { Message, Sessions } from './contender.ts'
import { contenderNamed } from './contenders.ts'
import { messageOf, messagesOf, RARE_WORD } from './message.ts'
import type { Order, Read, Reply } from './player.ts'

/** A round of appends ends here at the latest: some contenders need seconds for one. */
const ROUND_MS = 700
const LISTED = 50
const FOUND = 200

const contender = contenderNamed(process.argv[2] ?? '')
let opened: Sessions | undefined

process.on('message', (order: Order) => {
  perform(order).then(
    (answer) => reply({ answer }),
    (error: unknown) => reply({ failed: textOf(error) }),
  )
})
process.on('disconnect', () => process.exit())

function reply(what: Reply): void {
  process.send?.(what)
}

async function perform(order: Order): Promise<unknown> {
  switch (order.do) {
    case 'open':
      opened = await contender.open(order.directory)
      return
    case 'close':
      await sessions().close()
      return
    case 'fill':
      return sessions().fill(order.session, messagesOf(order.session, order.count))
    case 'append':
      return appendEach(
        order.sessions.flatMap((session) =>
          Array.from({ length: order.each }, (_, i) => [session, messageOf(`${order.tag}-${i}`)] as const),
        ),
      )
    case 'append at once':
      return appendAtOnce(order)
    case 'reopen':
      return reopen(order)
    case 'list':
      return list(order)
    case 'search':
      return search(order)
    case 'fork':
      return fork(order)
    case 'write':
      return write(order)
    case 'read':
      return read(order)
    case 'remove':
      rmSync(order.path)
      return
  }
}

async function appendEach(messages: readonly (readonly [session: string, message: Message])[]): Promise<number> {
  const started = performance.now()
  let count = 0
  for (const [session, message] of messages) {
    await sessions().append(session, message)
    count++
    if (performance.now() - started > ROUND_MS) break
  }
  return (performance.now() - started) / count
}

async function appendAtOnce({ callers, each, tag }: Order & { do: 'append at once' }): Promise<number> {
  const work = Array.from({ length: callers }, (_, caller) =>
    Array.from({ length: each }, (_, i) => [`caller-${caller}`, messageOf(`${tag}-${caller}-${i}`)] as const),
  )
  const started = performance.now()
  let count = 0
  await Promise.all(
    work.map(async (messages) => {
      for (const [session, message] of messages) {
        await sessions().append(session, message)
        count++
        if (performance.now() - started > ROUND_MS) break
      }
    }),
  )
  return (performance.now() - started) / count
}

async function reopen({ directory, session, last }: Order & { do: 'reopen' }): Promise<number> {
  await sessions().close()
  const started = performance.now()
  opened = await contender.open(directory)
  const messages = await opened.messages(session, last)
  const elapsed = performance.now() - started
  if (messages.length !== last) throw new Error(`${messages.length} messages came back, instead of ${last}.`)
  return elapsed
}

async function list({ session, tag }: Order & { do: 'list' }): Promise<number> {
  await sessions().append(session, messageOf(tag))
  const started = performance.now()
  const [newest] = await sessions().list(LISTED)
  const elapsed = performance.now() - started
  if (newest !== session) throw new Error(`The list begins with ${newest}; ${session} was changed last.`)
  return elapsed
}

async function search({ session, tag }: Order & { do: 'search' }): Promise<number> {
  await sessions().append(session, messageOf(tag, { rare: true }))
  const started = performance.now()
  const found = await sessions().search(RARE_WORD, FOUND)
  const elapsed = performance.now() - started
  if (!found.includes(tag)) throw new Error(`${found.length} messages were found, and not the last one that has the word.`)
  return elapsed
}

async function fork({ session, as }: Order & { do: 'fork' }): Promise<number> {
  const started = performance.now()
  await sessions().fork(session, as)
  const elapsed = performance.now() - started
  const [parent, child] = [await sessions().messages(session, 1), await sessions().messages(as, 1)]
  if (!isDeepStrictEqual(child, parent)) throw new Error('The fork does not end as its parent does.')
  return elapsed
}

async function write({ session, tag, from, count, bytes, untilRefused = false }: Order & { do: 'write' }): Promise<void> {
  for (let n = from; n < from + count; n++) {
    const message = messageOf(`${tag}-${n}`, { bytes })
    try {
      await sessions().append(session, message)
      reply({ told: { id: message.id } })
    } catch (error) {
      reply({ told: { id: message.id, refused: textOf(error) } })
      if (untilRefused) return
    }
  }
}

/** Opens the store anew, and reads everything that can be read of it. */
async function read({ directory, sessions: names }: Order & { do: 'read' }): Promise<Read> {
  const messages: Record<string, readonly Message[]> = {}
  const told: string[] = []
  const tell = (error: unknown): void => void told.push(textOf(error))
  const store = await contender.open(directory).catch(tell)
  if (store === undefined) return { messages, told }
  for (const name of names) {
    try {
      messages[name] = await store.messages(name)
      if ((await store.isDamaged?.(name)) === true) told.push(`${name} is damaged.`)
    } catch (error) {
      tell(error)
    }
  }
  await Promise.resolve(store.close()).catch(tell)
  return { messages, told }
}

function sessions(): Sessions {
  if (opened === undefined) throw new Error('Nothing is open.')
  return opened
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && !error.message.includes(code) ? `${code}: ${error.message}` : error.message
}
