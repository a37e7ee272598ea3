/**
 * What the adapters cost. LangGraph's checkpointer is held against `@langchain/langgraph-checkpoint-sqlite`, which has to be compiled: it is
 * fetched into a directory of its own, and if that cannot be done, a stand-in does the same work, which the figure then says.
 */
import { join } from 'node:path'
import { type BaseMessage, HumanMessage } from '@langchain/core/messages'
import type { RunnableConfig } from '@langchain/core/runnables'
import { type BaseCheckpointSaver, type Checkpoint, emptyCheckpoint, MemorySaver, uuid6 } from '@langchain/langgraph-checkpoint'
import type { AgentInputItem } from '@openai/agents-core'
import Database from 'libsql'
import { HoldfastSaver } from '../src/adapters/langgraph/index.ts'
import { HoldfastSession } from '../src/adapters/openai-agents/index.ts'
import { openStore } from '../src/store/open-store.ts'
import { LANGGRAPH_SQLITE } from './compare/langgraph.ts'
import { fetchPackage, importFetched } from './fetched.ts'
import { type Benchmark, figure, interleave, rateOf, ratios } from './harness.ts'
import { TEXT } from './session.ts'

const MESSAGES = 1000
const META = { source: 'loop', step: 0, parents: {} } as const

type Saver = Pick<BaseCheckpointSaver, 'put' | 'getTuple'>

export const adapters: Benchmark = {
  name: 'adapters',
  about: `An \`addItems\` of OpenAI's session against the plain append beneath it; a \`put\` and a \`getTuple\` of LangGraph's checkpointer with a channel of ${MESSAGES} messages against its SQLite checkpointer; and how a thread grows.`,
  run: async ({ directory, quick }) => {
    const store = await openStore(join(directory, 'store'))
    const item: AgentInputItem = { role: 'user', content: TEXT }
    const plain = store.session('plain')
    const session = new HoldfastSession({ store, sessionId: 'agent' })
    const slice = quick ? 200 : 1000
    const appends = await interleave(quick ? 3 : 9, {
      plain: () => rateOf(slice, () => plain.append(item)),
      adapter: () => rateOf(slice, () => session.addItems([item])),
    })
    const other = await sqliteSaver(directory)
    const threads = { ours: await Thread.begin(new HoldfastSaver({ store })), theirs: await Thread.begin(other.saver) }
    const steps = await interleave(quick ? 3 : 7, {
      ours: () => rateOf(slice, () => threads.ours.step()),
      theirs: () => rateOf(slice, () => threads.theirs.step()),
    })
    const growth = await growthOf(new HoldfastSaver({ store }), async () => {
      const version = await store.session('growth').version()
      return Number.parseInt(version, 10)
    })
    await store.close()
    return [
      figure('OpenAI addItems', 'appends/s', appends.adapter),
      figure('time of addItems, against a plain append', 'times', ratios(appends.plain, appends.adapter), { is: 'at most', value: 1.2 }),
      figure('LangGraph put and getTuple', 'appends/s', steps.ours),
      figure(`put and getTuple, against ${other.name}`, 'times', ratios(steps.ours, steps.theirs), { is: 'at least', value: 3 }),
      figure('bytes of the last 250 of 1000 steps, against those of the first 250', 'times', [growth], { is: 'at most', value: 1.2 }),
    ]
  },
}

/** A thread with a long conversation, which goes on by one message a step. */
class Thread {
  readonly #saver: Saver
  #config: RunnableConfig = { configurable: { thread_id: 'thread', checkpoint_ns: '' } }
  #messages: BaseMessage[] = Array.from({ length: MESSAGES }, (_, i) => messageOf(i))
  #step = 0

  private constructor(saver: Saver) {
    this.#saver = saver
  }

  static async begin(saver: Saver): Promise<Thread> {
    const thread = new Thread(saver)
    await thread.step()
    return thread
  }

  async step(): Promise<void> {
    const step = ++this.#step
    this.#messages = [...this.#messages, messageOf(MESSAGES + step)]
    this.#config = await this.#saver.put(this.#config, checkpointOf(this.#messages, step), META, { messages: step })
    const tuple = await this.#saver.getTuple({ configurable: { thread_id: 'thread', checkpoint_ns: '' } })
    const { messages = [] } = (tuple?.checkpoint.channel_values ?? {}) as { messages?: BaseMessage[] }
    if (messages.length !== MESSAGES + step) throw new Error(`A checkpoint came back with ${messages.length} messages.`)
    this.#messages = messages
  }
}

function messageOf(n: number): HumanMessage {
  return new HumanMessage({ id: `m${n}`, content: `Message ${n}: ${TEXT.slice(0, 200)}` })
}

function checkpointOf(messages: readonly BaseMessage[], step: number): Checkpoint {
  return { ...emptyCheckpoint(), id: uuid6(step), channel_values: { messages: [...messages] }, channel_versions: { messages: step } }
}

/** What a thread gains in its last quarter against what it gained in its first. */
async function growthOf(saver: Saver, size: () => Promise<number>): Promise<number> {
  let config: RunnableConfig = { configurable: { thread_id: 'growth', checkpoint_ns: '' } }
  const messages: BaseMessage[] = []
  const sizes: number[] = []
  for (let step = 1; step <= MESSAGES; step++) {
    messages.push(messageOf(step))
    config = await saver.put(config, checkpointOf(messages, step), META, { messages: step })
    if (step === 1 || step % (MESSAGES / 4) === 0) sizes.push(await size())
  }
  const [begin = 0, first = 0, , third = 0, last = 0] = sizes
  return (last - third) / (first - begin)
}

async function sqliteSaver(directory: string): Promise<{ name: string; saver: Saver }> {
  const file = join(directory, 'checkpoints.db')
  fetchPackage(LANGGRAPH_SQLITE)
  try {
    const { SqliteSaver } = (await importFetched(LANGGRAPH_SQLITE)) as { SqliteSaver: { fromConnString(path: string): Saver } }
    const saver = SqliteSaver.fromConnString(file)
    await saver.getTuple({ configurable: { thread_id: 'nobody' } })
    return { name: LANGGRAPH_SQLITE.name, saver }
  } catch (error) {
    console.error(`  ${LANGGRAPH_SQLITE.name} could not be had (${(error as Error).message.split('\n')[0]}): a stand-in does its work`)
    return { name: `a stand-in for ${LANGGRAPH_SQLITE.name}, which could not be had`, saver: new StandIn(file) }
  }
}

/** The whole checkpoint in one row, as the SQLite checkpointer has it, with the framework's own serialiser. */
class StandIn implements Saver {
  readonly #database: InstanceType<typeof Database>
  readonly #serde = new MemorySaver().serde

  constructor(file: string) {
    this.#database = new Database(file)
    this.#database.exec('PRAGMA journal_mode=WAL; CREATE TABLE checkpoints (id TEXT PRIMARY KEY, checkpoint BLOB)')
  }

  async put(_: RunnableConfig, checkpoint: Checkpoint): Promise<RunnableConfig> {
    const [, bytes] = await this.#serde.dumpsTyped(checkpoint)
    this.#database.prepare('INSERT OR REPLACE INTO checkpoints VALUES (?, ?)').run(checkpoint.id, Buffer.from(bytes))
    return { configurable: { thread_id: 'thread', checkpoint_ns: '', checkpoint_id: checkpoint.id } }
  }

  async getTuple(): ReturnType<Saver['getTuple']> {
    const row = this.#database.prepare('SELECT checkpoint FROM checkpoints ORDER BY id DESC LIMIT 1').get() as { checkpoint: Buffer }
    return { config: {}, checkpoint: (await this.#serde.loadsTyped('json', row.checkpoint)) as Checkpoint }
  }
}
