/** A store directory: section "The directory" of docs/format.md. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAccepted, lossesIn } from './damage.ts'
import { type DataKey, dataKeyId, MasterKey, type WrappedKey } from './encryption.ts'
import { Journal } from './journal.ts'
import { checksumOf, linesIn } from './line.ts'
import { Messages } from './messages.ts'
import { type State, stateOf } from './state.ts'

export interface FoundSession {
  readonly name: string
  readonly journal: Journal
  readonly state: State
  readonly messages: Messages
  readonly isDamaged: boolean
}

export class StoreReader {
  readonly directory: string
  readonly #master: MasterKey | undefined
  readonly #journals = new Map<string, Journal>()

  constructor(directory: string, masterKey?: string) {
    this.directory = directory
    this.#master = masterKey === undefined ? undefined : new MasterKey(masterKey)
  }

  /** What the first intact line of `holdfast.json` says. */
  get identity(): { readonly holdfast: number; readonly store: string; readonly made: string } {
    const lines = linesIn(readFileSync(join(this.directory, 'holdfast.json')), 0)
    const intact = lines.find(({ bytes }) => checksumOf(bytes) !== undefined)
    if (intact === undefined) throw new Error('holdfast.json has no intact line')
    const identity = JSON.parse(intact.bytes.toString('utf8')) as StoreReader['identity']
    if (identity.holdfast > 2) throw new Error(`UNSUPPORTED_VERSION: a store of format ${identity.holdfast}`)
    return identity
  }

  /** The names of all journals, or of one space. */
  names(space?: string): string[] {
    const all = readdirSync(join(this.directory, 'sessions'), { recursive: true, encoding: 'utf8' }).map((path) =>
      path.replaceAll('\\', '/'),
    )
    const names = all.filter((path) => /^[0-9a-f]{32}\/[0-9a-f]{2}\/[a-z0-9-]{0,24}-[0-9a-f]{32}$/.test(path))
    return names.filter((name) => space === undefined || name.startsWith(`${hash(space)}/`)).sort()
  }

  session(space: string, id: string): FoundSession | undefined {
    const name = journalName(space, id)
    return existsSync(join(this.directory, 'sessions', name)) ? this.read(name) : undefined
  }

  read(name: string): FoundSession {
    const journal = this.#journal(name)
    const state = stateOf(journal)
    if (state.space !== null && state.id !== null && journalName(state.space, state.id) !== name)
      throw new Error(`DAMAGED: the files of ${name} belong to another session`)
    const { space, id, noticed, accepted } = state
    const journalOf = (session: string) => (space === null ? undefined : this.#journal(journalName(space, session)))
    const losses = [...lossesIn(journal), ...noticed.map(({ position: at, to }) => ({ at, to }))]
    const isDamaged = id === null || losses.some((loss) => !isAccepted(loss, accepted))
    return { name, journal, state, messages: new Messages(journal, state, journalOf), isDamaged }
  }

  /** The data key of a journal. */
  dataKey(name: string): DataKey {
    if (this.#master === undefined) throw new Error('UNREADABLE: no master key')
    const id = dataKeyId(name)
    for (let number = 1; ; number++) {
      const keys = this.session('_keys', `sessions.${number}`)
      if (keys?.state.status === 'deleted') continue
      const messages = keys?.messages.onBranch() ?? []
      const wrapped = [id, `${id}.copy`].flatMap((wanted) => messages.find((message) => message.id === wanted)?.message ?? [])
      const key = wrapped.find((message) => 'wrapped' in (message as object))
      if (key === undefined) throw new Error('UNREADABLE: no data key')
      return this.#master.unwrap(id, key as WrappedKey)
    }
  }

  /** The segments of a journal with their bytes. */
  files(name: string): { first: number; bytes: Buffer }[] {
    const directory = join(this.directory, 'sessions', name)
    const segments = readdirSync(directory).filter((file) => /^\d{16}\.jsonl$/.test(file))
    return segments.sort().map((file) => ({ first: Number(file.slice(0, 16)), bytes: readFileSync(join(directory, file)) }))
  }

  #journal(name: string): Journal {
    const known = this.#journals.get(name)
    if (known !== undefined) return known
    let key: DataKey | undefined
    const journal = new Journal(this.files(name), (line) => {
      key ??= this.dataKey(name)
      return key.open(line, name)
    })
    this.#journals.set(name, journal)
    return journal
  }
}

export function journalName(space: string, id: string): string {
  const digest = hash(`${space}\0${id}`)
  const slug = id
    .slice(0, 24)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '-')
    .slice(0, 24)
  return `${hash(space)}/${digest.slice(0, 2)}/${slug}-${digest}`
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
