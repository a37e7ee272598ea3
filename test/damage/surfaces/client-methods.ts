/** Every method of the client, with what it must answer. What it does with other answers of a server is the same for all of them. */
import { connect, RemoteSession, RemoteStore, RemoteTask } from '../../../src/client/index.ts'
import type { DamagedPlace } from '../../../src/store/damage/damage.ts'
import {
  ACCEPTS,
  type Answers,
  elsewhere,
  LISTS,
  READS,
  READS_CONTENT,
  READS_DAMAGE,
  READS_EARLIER,
  READS_ENTRY,
  READS_LATE,
  READS_OWNER,
  READS_STATE,
  READS_THE_LOST,
  READS_WINDOW,
  silent,
  storeFor,
  WRITES,
  WRITES_THE_LOST,
} from './answers.ts'
import type { Opened } from './place.ts'
import { WORD } from './subject.ts'
import { type Surface, seen } from './surface.ts'

const MESSAGE = { role: 'user', content: 'x' }
const BY_INFO = silent('its type has no room; info() says that the session is damaged')
const KEYS = elsewhere('reads keys only')
const SETTINGS = elsewhere('reads settings only')
const NOT_ASKED = elsewhere('reads nothing before something is appended')

/** A method of the session, of the store or of a task. */
type Call = (at: { store: RemoteStore; session: RemoteSession; named: Opened['named'] }) => Promise<unknown>
type Spec = readonly [answers: Answers, call?: Call, reports?: (result: never) => boolean]

const hasPlaces = ({ damage }: { readonly damage: readonly DamagedPlace[] }): boolean => damage.length > 0
/** What is read of one message or entry. */
interface Read {
  readonly damage?: readonly DamagedPlace[]
}
const isUncertain = ({ damage = [] }: Read): boolean => damage.length > 0
const isDamaged = ({ status }: { readonly status: string }): boolean => status === 'damaged'

const SESSION: Readonly<Record<string, Spec>> = {
  messages: [READS, ({ session }) => session.messages({ archived: true }), hasPlaces],
  window: [READS_WINDOW, ({ session }) => session.window(), hasPlaces],
  tree: [READS_STATE, ({ session }) => session.tree(), hasPlaces],
  archive: [READS_EARLIER, ({ session }) => session.archive(1), hasPlaces],
  damage: [READS_DAMAGE, ({ session }) => session.damage(), (places: unknown[]) => places.length > 0],
  info: [READS_STATE, ({ session }) => session.info(), isDamaged],
  message: [READS_CONTENT, ({ session, named }) => session.message(named.mid), isUncertain],
  record: [READS_THE_LOST, ({ session, named }) => session.record(named.mid)],
  revisions: [
    READS_CONTENT,
    ({ session, named }) => session.revisions(named.mid),
    ({ revisions }: { revisions: Read[] }) => revisions.some(isUncertain),
  ],
  entry: [READS_ENTRY, ({ session }) => session.entry('notes', 'k'), isUncertain],
  entries: [READS_ENTRY, async ({ session }) => (await session.entries('notes').next()).value, isUncertain],
  entryPage: [READS_ENTRY, ({ session }) => session.entryPage('notes'), ({ entries }: { entries: Read[] }) => entries.some(isUncertain)],
  archives: [BY_INFO, ({ session }) => session.archives()],
  turn: [BY_INFO, ({ session }) => session.turn()],
  usage: [BY_INFO, ({ session }) => session.usage()],
  recordPage: [BY_INFO, ({ session }) => session.recordPage()],
  version: [BY_INFO, ({ session }) => session.version()],
  follow: [NOT_ASKED],
  append: [WRITES, ({ session }) => session.append(MESSAGE)],
  replaceTail: [WRITES, ({ session }) => session.replaceTail([MESSAGE], [MESSAGE])],
  // The route compares: by now it has erased the message.
  replace: [WRITES_THE_LOST, ({ session, named }) => session.replace(named.mid, MESSAGE)],
  putEntries: [WRITES, ({ session }) => session.putEntries([{ channel: 'c', key: 'k', value: 1 }])],
  describe: [WRITES, ({ session }) => session.describe({ addTags: ['t'] })],
  snapshot: [WRITES, ({ session }) => session.snapshot('n')],
  revert: [WRITES, ({ session }) => session.revert({ snapshot: 'snap' })],
  undo: [WRITES, ({ session }) => session.undo()],
  fork: [WRITES, ({ session }) => session.fork()],
  child: [WRITES, ({ session }) => session.child()],
  commit: [WRITES, ({ session }) => session.commit()],
  retractMemories: [WRITES, ({ session }) => session.retractMemories(1)],
  recordUsage: [WRITES, ({ session }) => session.recordUsage({ model: 'm', inputTokens: 1, outputTokens: 1 })],
  share: [WRITES, ({ session }) => session.share()],
  unshare: [WRITES, ({ session, named }) => session.unshare(named.sid)],
  erase: [WRITES_THE_LOST, ({ session, named }) => session.erase(named.mid)],
  delete: [WRITES, ({ session }) => session.delete()],
  restore: [WRITES, ({ session }) => session.restore()],
  acceptDamage: [ACCEPTS, ({ session }) => session.acceptDamage(), ({ accepted }: { accepted: unknown[] }) => accepted.length > 0],
}

const STORE: Readonly<Record<string, Spec>> = {
  list: [LISTS, ({ store }) => store.list(), ({ sessions }: { sessions: { status: string }[] }) => sessions.some(isDamaged)],
  search: [LISTS, ({ store }) => store.search(WORD), hasPlaces],
  shared: [
    READS_LATE,
    ({ store, named }) => store.shared(named.token),
    ({ page }: { page: { damage: DamagedPlace[] } }) => hasPlaces(page),
  ],
  stats: [LISTS, ({ store }) => store.stats(), ({ sessions }: { sessions: { damaged: number } }) => sessions.damaged > 0],
  doctor: [
    LISTS,
    ({ store }) => store.doctor(),
    ({ findings }: { findings: { severity: string }[] }) => findings.some(({ severity }) => severity === 'damage'),
  ],
  export: [READS, ({ store }) => damageOfExport(store), (places: number) => places > 0],
  task: [BY_INFO, ({ store, named }) => store.task(named.tid)],
  tasks: [elsewhere('lists tasks from the catalog'), ({ store }) => store.tasks()],
  memories: [elsewhere('reads what summaries say, none of which was hit'), ({ store }) => store.memories({ owner: 'kim' })],
  session: [elsewhere('makes a handle and asks nothing')],
  changes: [NOT_ASKED],
  close: [elsewhere('asks nothing')],
  create: [elsewhere('creates another session'), ({ store }) => store.create()],
  retryTasks: [elsewhere('begins tasks that failed, of which there are none')],
  purge: [elsewhere('a session that cannot be read is named as failed'), ({ store }) => store.purge({ dryRun: true }).next()],
  expire: [elsewhere('a session that cannot be read is skipped')],
  erase: [
    READS_OWNER,
    async ({ store }) => (await store.erase({ owner: 'nobody-has-this-name', dryRun: true }).next()).value,
    (first?: { action: string }) => first?.action === 'failed',
  ],
  importFile: [elsewhere('brings in another session')],
  destroyKey: [elsewhere('the store is not encrypted')],
  quota: [SETTINGS],
  quotaUsage: [SETTINGS],
  setQuota: [SETTINGS],
  retention: [SETTINGS],
  setRetention: [SETTINGS],
  audit: [elsewhere('reads the audit log')],
  whoami: [KEYS],
  createKey: [KEYS],
  keys: [KEYS],
  revokeKey: [KEYS],
  createToken: [KEYS],
}

const TASK: Readonly<Record<string, Spec>> = {
  info: [BY_INFO, async ({ store, named }) => (await store.task(named.tid)).info()],
  completed: [BY_INFO, async ({ store, named }) => (await store.task(named.tid)).completed()],
  cancel: [WRITES, async ({ store, named }) => (await store.task(named.tid)).cancel()],
  retry: [WRITES, async ({ store, named }) => (await store.task(named.tid)).retry()],
}

async function damageOfExport(store: RemoteStore): Promise<number> {
  let damaged = 0
  const onDamage = (places: number): void => {
    damaged = places
  }
  for await (const _ of store.export({ session: 'talk', onDamage }));
  return damaged
}

const CLASSES = { session: [RemoteSession, SESSION], store: [RemoteStore, STORE], task: [RemoteTask, TASK] } as const

export const METHOD_NAMES = Object.entries(CLASSES).flatMap(([of, [{ prototype }]]) =>
  Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function')
    .map(([name]) => `client ${of}.${name}`),
)

export const METHOD_SURFACES: readonly Surface[] = Object.entries(CLASSES).flatMap(([of, [, specs]]) =>
  Object.entries(specs).map(([name, [answers, call, reports = () => false]]) => ({
    name: `client ${of}.${name}`,
    answers,
    on: name === 'search' ? 'searching' : storeFor(answers),
    ...(call === undefined
      ? {}
      : { ask: (opened: Opened) => seen(async () => call(await reached(opened)), reports as (result: unknown) => boolean) }),
  })),
)

async function reached({ fetch, key, named }: Opened): Promise<Parameters<Call>[0]> {
  const store = connect('http://localhost', { key, retries: 0, fetch: fetch as typeof globalThis.fetch })
  return { store, session: store.session(named.id), named }
}
