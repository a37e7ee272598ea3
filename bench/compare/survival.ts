/**
 * What is left when something goes wrong: processes are killed, write at the same time, bytes rot, the disk is full. What was acknowledged is held against
 * what a new reader is shown. The value of a cell is the number of messages about which somebody was told something that is not so.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { Random } from '../../test/simulation/random.ts'
import type { Contender } from './contender.ts'
import { messageOf } from './message.ts'
import { Player, type Read, type Told } from './player.ts'
import { type Cell, type Row, rowOf } from './row.ts'

interface Setting {
  readonly directory: string
  readonly quick: boolean
}

const SESSION = 'shared'
/** Of a message in a store that is killed: long enough for a kill to come in the middle of it. */
const LONG_BYTES = 20_000

export async function compareSurvival(all: readonly Contender[], setting: Setting): Promise<Row[]> {
  const rows: Row[] = []
  const add = async (name: string, whenBehind: string, cell: (contender: Contender, directory: string) => Promise<Cell>): Promise<void> => {
    console.error(`  ${name} …`)
    const placed = async (contender: Contender): Promise<Cell | undefined> => {
      if (contender.keeps === 'memory') return undefined
      const directory = join(setting.directory, contender.name.replaceAll(' ', '-'))
      mkdirSync(directory)
      try {
        return await cell(contender, directory)
      } finally {
        rmSync(directory, { recursive: true, force: true })
      }
    }
    rows.push(await rowOf({ name, whenBehind }, all, placed))
  }
  const { quick } = setting
  await add('syncs for one append', 'It syncs more than it has to.', syncsOf)
  await add('two processes append to one session', NOT_EXPECTED, (contender, directory) =>
    twoProcesses(contender, directory, quick ? 15 : 200),
  )
  await add('kill -9, again and again, and the last message sent again', NOT_EXPECTED, (contender, directory) =>
    killed(contender, directory, quick ? 2 : 10),
  )
  await add('a bit flips where a message stands', NOT_EXPECTED, (contender, directory) => flipped(contender, directory, quick ? 3 : 60))
  await add('the disk is full, then has room again', NOT_EXPECTED, fullDisk)
  return rows
}

const NOT_EXPECTED = 'This is a bug of Holdfast.'

/** Counted by strace; the syncs of opening are taken off by counting twice. */
async function syncsOf({ name, keeps }: Contender, directory: string): Promise<Cell> {
  const counted = async (appends: number): Promise<number> => {
    const log = join(directory, `strace-${appends}`)
    const player = new Player(name, ['strace', '-f', '-qq', '-o', log, '-e', 'trace=fsync,fdatasync,msync,sync_file_range'])
    await player.ask({ do: 'open', directory: join(directory, String(appends)) })
    await player.ask({ do: 'write', session: SESSION, tag: 'm', from: 0, count: appends, bytes: 1000 })
    await player.end()
    return readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => /sync\w*\(/.test(line)).length
  }
  const says = keeps === 'sync' ? 'syncs' : 'does not sync'
  if (spawnSync('strace', ['-V']).status !== 0) return { text: `${says} (not counted: there is no strace)`, value: 0 }
  const syncs = ((await counted(120)) - (await counted(20))) / 100
  return { text: `${says}: ${syncs.toFixed(2)}`, value: 0 }
}

async function twoProcesses({ name }: Contender, directory: string, count: number): Promise<Cell> {
  await using one = new Player(name)
  await using other = new Player(name)
  // One after the other: who makes the store is not the question here.
  for (const player of [one, other]) await player.ask({ do: 'open', directory })
  const write = (player: Player, tag: string) => player.ask({ do: 'write', session: SESSION, tag, from: 0, count, bytes: 1000 })
  await Promise.all([write(one, 'one'), write(other, 'other')])
  return judged([...one.told, ...other.told], await readAnew(name, directory), 1000)
}

async function killed({ name }: Contender, directory: string, times: number): Promise<Cell> {
  const random = new Random(12)
  const told: Told[] = []
  for (let time = 0; time < times; time++) {
    await using player = new Player(name)
    await player.ask({ do: 'open', directory })
    // Nobody knows what became of the message that was under way, so it is sent again.
    player.ask({ do: 'write', session: SESSION, tag: 'm', from: told.length, count: 1_000_000, bytes: LONG_BYTES }).catch(() => undefined)
    await player.hasTold(1 + random.int(20))
    await sleep(random.float() * 3)
    await player.kill()
    told.push(...player.told)
  }
  return judged(told, await readAnew(name, directory), LONG_BYTES)
}

/** In the message, or just beside it. */
async function flipped({ name }: Contender, directory: string, flips: number): Promise<Cell> {
  const names = ['a', 'b', 'c', 'd']
  const good = join(directory, 'good')
  let player = new Player(name)
  await player.ask({ do: 'open', directory: good })
  for (const session of names) await player.ask({ do: 'fill', session, count: 5 })
  for (const session of names) await player.ask({ do: 'append', sessions: [session], each: 20, tag: `${session}-more` })
  await player.ask({ do: 'close' })
  const truth = await inspect(player, good, names)
  const random = new Random(34)
  let [silent, most] = [0, 0]
  for (let flip = 0; flip < flips; flip++) {
    const bad = join(directory, `flip-${flip}`)
    cpSync(good, bad, { recursive: true })
    flipIn(bad, `${random.pick(names)}-more-${random.int(20)}`, random)
    const seen = await inspect(player, bad, names).catch(() => undefined)
    // It died of it. Whoever uses it knows, and has nothing.
    if (seen === undefined) player = new Player(name)
    const wrong = wrongIn(truth.messages, seen?.messages ?? {})
    if (wrong > 0 && seen !== undefined && seen.told.length === 0) silent++
    most = Math.max(most, wrong)
    rmSync(bad, { recursive: true })
  }
  await player.kill()
  return { text: `${flips} flips: ${silent} not noticed; of ${4 * 25} messages at most ${most} lost or wrong`, value: silent }
}

function flipIn(directory: string, id: string, random: Random): void {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((name) => join(directory, name))
  const places = files
    .filter((path) => statSync(path).isFile())
    .flatMap((path) => {
      const at = readFileSync(path).indexOf(`${id}: `)
      return at < 0 ? [] : [{ path, at }]
    })
  if (places.length === 0) throw new Error(`No file has the message ${id}.`)
  const { path, at } = random.pick(places)
  const bytes = readFileSync(path)
  const byte = Math.min(bytes.length - 1, Math.max(0, at - 64 + random.int(1024 + 128)))
  bytes[byte] = (bytes[byte] ?? 0) ^ (1 << random.int(8))
  writeFileSync(path, bytes)
}

function wrongIn(truth: Read['messages'], seen: Read['messages']): number {
  return Object.entries(truth).flatMap(([session, messages]) => {
    const found = new Map((seen[session] ?? []).map((message) => [message.id, message]))
    return messages.filter((message) => !isDeepStrictEqual(found.get(message.id), message))
  }).length
}

/** A disk in memory, in a name space of mounts of its own: it vanishes with the process, and needs no rights where the system gives such. */
const WITHIN_DISK = [
  ['unshare', '--mount'],
  ['unshare', '--map-root-user', '--mount'],
]
const DISK_BYTES = 12 * 1024 * 1024
const BALLAST_BYTES = 4 * 1024 * 1024

async function fullDisk({ name }: Contender, directory: string): Promise<Cell> {
  const mount = `mount -t tmpfs -o size=${DISK_BYTES} none "$0" && head -c ${BALLAST_BYTES} /dev/zero > "$0/ballast" && exec "$@"`
  const within = WITHIN_DISK.map((words) => [...words, 'sh', '-c', mount, directory]).find(
    ([program = '', ...words]) => spawnSync(program, [...words, 'true']).status === 0,
  )
  if (within === undefined) return { text: 'not tried: no disk can be mounted here', value: 0 }
  await using player = new Player(name, within)
  const store = join(directory, 'store')
  await player.ask({ do: 'open', directory: store })
  const write = async (count: number, untilRefused: boolean): Promise<readonly Told[]> => {
    const from = player.told.length
    await player.ask({ do: 'write', session: SESSION, tag: 'm', from, count, bytes: 1000, untilRefused })
    return player.told.slice(from)
  }
  const filling = await write(100_000, true)
  await write(20, false)
  await player.ask({ do: 'remove', path: join(directory, 'ballast') })
  const later = await write(20, false)
  const { text, value } = judged(player.told, await inspect(player, store, [SESSION]), 1000)
  const [why] = (filling.at(-1)?.refused ?? 'nothing').split(/[:.,\n]/)
  const refusedLater = later.filter(({ refused }) => refused !== undefined).length
  return { text: `told ${why}, ${refusedLater === 0 ? 'goes on' : 'does not go on'}; ${text}`, value: value + refusedLater }
}

/** Holds what was told against what is there. */
function judged(told: readonly Told[], { messages, told: complaints }: Read, bytes: number): Cell {
  const counts = new Map<string, number>()
  for (const message of messages[SESSION] ?? []) {
    if (isDeepStrictEqual(message, messageOf(message.id, { bytes }))) counts.set(message.id, (counts.get(message.id) ?? 0) + 1)
  }
  const acknowledged = told.filter(({ refused }) => refused === undefined)
  const refused = told.filter((one) => one.refused !== undefined)
  const lost = acknowledged.filter(({ id }) => !counts.has(id)).length
  const doubled = [...counts.values()].filter((count) => count > 1).length
  const back = refused.filter(({ id }) => counts.has(id)).length
  const parts = [
    `of ${acknowledged.length.toLocaleString('en')} acknowledged ${lost} lost, ${doubled} doubled`,
    ...(refused.length === 0 ? [] : [`of ${refused.length} refused ${back} there`]),
    ...(SESSION in messages ? [] : [`cannot be read: ${complaints[0]}`]),
  ]
  return { text: parts.join('; '), value: lost + doubled + back }
}

async function readAnew(name: string, directory: string): Promise<Read> {
  await using player = new Player(name)
  return await inspect(player, directory, [SESSION])
}

async function inspect(player: Player, directory: string, sessions: readonly string[]): Promise<Read> {
  return (await player.ask({ do: 'read', directory, sessions })) as Read
}
