/** A network of its own for a database: the link to it can be cut, and then nobody is told, as when a cable is pulled. Needs root. */
import { spawnSync } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'

export interface Namespace {
  /** Where a server in there is reached. */
  readonly address: string
  /** The words in front of a command that runs in there. */
  readonly within: readonly string[]
  cut(): void
  mend(): void
  remove(): void
}

export function makeNamespace(): Namespace {
  const name = `hf${randomBytes(3).toString('hex')}`
  const [here, there] = [`${name}a`, `${name}b`]
  const net = `10.${randomInt(200, 250)}.${randomInt(0, 256)}`
  const within = ['ip', 'netns', 'exec', name]
  ip('netns', 'add', name)
  ip('link', 'add', here, 'type', 'veth', 'peer', 'name', there, 'netns', name)
  ip('addr', 'add', `${net}.1/30`, 'dev', here)
  ip('link', 'set', here, 'up')
  ip('-n', name, 'addr', 'add', `${net}.2/30`, 'dev', there)
  ip('-n', name, 'link', 'set', 'lo', 'up')
  ip('-n', name, 'link', 'set', there, 'up')
  return {
    address: `${net}.2`,
    within,
    // At its end: whoever sends from here gets no error, and no answer.
    cut: () => ip('-n', name, 'link', 'set', there, 'down'),
    mend: () => ip('-n', name, 'link', 'set', there, 'up'),
    remove: () => ip('netns', 'del', name),
  }
}

function ip(...words: string[]): void {
  const { status, stderr } = spawnSync('ip', words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ip ${words.join(' ')}: ${stderr}`)
}
