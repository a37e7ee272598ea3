/** Every command of the command line, with what it must answer. Each runs as a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { COMMANDS } from '../../../src/cli/commands.ts'
import { EXPORT_FORMATS } from '../../../src/transfer/export/export.ts'
import { MAIN } from '../../cli/holdfast.ts'
import {
  ACCEPTS,
  type Answers,
  elsewhere,
  LISTS,
  READS,
  READS_EARLIER,
  READS_STATE,
  READS_WINDOW,
  type Seen,
  WRITES,
  WRITES_THE_LOST,
} from './answers.ts'
import type { Damaged } from './place.ts'
import { TALK, WORD } from './subject.ts'
import type { Surface } from './surface.ts'

/** In place of the id of the message that a fault hits. */
const THE_LOST = '<lost>'

/** Words of a call; several where a command has ways that differ. */
type Spec = readonly [answers: Answers, ...calls: readonly (readonly string[])[]]

const SERVES = elsewhere('answers by the routes or the tools, which have rows of their own')
const COUNTS = elsewhere('prints counters of the state; show and list warn')
const KEYS = elsewhere('reads keys only')
const SETTINGS = elsewhere('reads settings only')
const AS_LIBRARY = elsewhere('writes as `append` does, which has a row of its own')
const FILES = elsewhere('copies bytes, whole or not, and says in its own words what differs')

const SPECS: Readonly<Record<string, Spec>> = {
  // First: the catalog, which lists are read from, learns of damage from the doctor.
  doctor: [LISTS, ['doctor', TALK], ['doctor']],
  show: [READS, ['show', TALK, '--archived']],
  list: [LISTS, ['list']],
  search: [LISTS, ['search', WORD]],
  tree: [READS_STATE, ['tree', TALK]],
  window: [READS_WINDOW, ['window', TALK]],
  archives: [READS_EARLIER, ['archives', TALK, '1']],
  export: [READS, ...EXPORT_FORMATS.map((format) => ['export', TALK, '--format', format] as const)],
  append: [WRITES, ['append', TALK, 'x']],
  erase: [WRITES_THE_LOST, ['erase', TALK, THE_LOST]],
  'accept-damage': [ACCEPTS, ['accept-damage', TALK]],
  serve: [SERVES],
  mcp: [SERVES],
  new: [elsewhere('creates another session')],
  title: [AS_LIBRARY],
  tag: [AS_LIBRARY],
  snapshot: [AS_LIBRARY],
  revert: [AS_LIBRARY],
  undo: [AS_LIBRARY],
  fork: [AS_LIBRARY],
  commit: [AS_LIBRARY],
  share: [AS_LIBRARY],
  unshare: [AS_LIBRARY],
  delete: [AS_LIBRARY],
  restore: [AS_LIBRARY],
  shares: [COUNTS],
  usage: [COUNTS],
  tasks: [COUNTS],
  task: [COUNTS],
  memories: [COUNTS],
  status: [COUNTS],
  work: [elsewhere('writes summaries; a task that cannot read its messages fails and says why')],
  keys: [KEYS],
  import: [elsewhere('brings in another session')],
  backup: [FILES],
  'restore-backup': [FILES],
  copy: [FILES],
  migrate: [elsewhere('changes tables only')],
  purge: [elsewhere('a session that cannot be read is named as failed')],
  expire: [elsewhere('a session that cannot be read is skipped')],
  audit: [elsewhere('reads the audit log')],
  quota: [SETTINGS],
  retention: [SETTINGS],
  encryption: [KEYS],
  completion: [elsewhere('opens no store')],
}

export const COMMAND_NAMES = COMMANDS.map(({ name }) => name)
export const STATED_COMMANDS = Object.keys(SPECS)

/** Ways of a command whose answers differ from those of its row. */
const MORE: readonly Spec[] = [
  [LISTS, ['export', '--all']],
  [READS_STATE, ['archives', TALK]],
]

export const COMMAND_SURFACES: readonly Surface[] = [...MORE, ...Object.values(SPECS)].flatMap(([answers, ...calls]) =>
  calls.map((words) => ({
    name: `holdfast ${words.join(' ')}`,
    answers,
    on: 'commands' as const,
    run: (damaged: Damaged) => run(damaged, words),
  })),
)

async function run({ address, named }: Damaged, words: readonly string[]): Promise<Seen> {
  const env = { ...process.env, HOLDFAST_STORE: address, HOME: tmpdir() }
  const child = spawn(process.execPath, [MAIN, '--json', ...words.map((word) => (word === THE_LOST ? named.mid : word))], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const [status] = (await once(child, 'close')) as [number]
  return seenIn(words, { status, stdout, stderr })
}

function seenIn([command]: readonly string[], ended: { status: number; stdout: string; stderr: string }): Seen {
  const { status, stdout, stderr } = ended
  if (stderr.includes('"error":{"code":"DAMAGED"')) return { reported: false, refused: true }
  if (command === 'doctor') return { reported: status === 5 && stdout.includes('"severity":"damage"'), refused: false }
  if (command === 'accept-damage') return { reported: status === 0 && stdout.includes('"position"'), refused: false }
  const warned = /"warning":.*(?:"damage":\[|damaged)/.test(stderr)
  if (warned && status !== 0) throw new Error(`holdfast ${command} warned, and ended with ${status}.`)
  return { reported: warned, refused: false }
}
