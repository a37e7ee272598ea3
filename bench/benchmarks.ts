/** All benchmarks, in the order of the page. */
import { adapters } from './adapters.ts'
import { catalogAppend, catalogList, catalogSearch } from './catalog.ts'
import { commandLine } from './command-line.ts'
import { commits } from './commits.ts'
import { encryption } from './encryption.ts'
import { erase } from './erase.ts'
import type { Benchmark } from './harness.ts'
import { hostile } from './hostile.ts'
import { httpAppend } from './http-append.ts'
import { httpFollowers } from './http-followers.ts'
import { httpMemory } from './http-memory.ts'
import { longJournal } from './long-journal.ts'
import { longSession } from './long-session.ts'
import { manyCallers } from './many-callers.ts'
import { manyProcesses } from './many-processes.ts'
import { manySessions } from './many-sessions.ts'
import { oneCaller } from './one-caller.ts'
import { open } from './open.ts'
import { postgresAppend, postgresCatalog } from './postgres.ts'
import { recall } from './recall.ts'
import { redaction } from './redaction.ts'
import { storeAppend } from './store-append.ts'
import { transfer } from './transfer.ts'
import { web } from './web.ts'

export const BENCHMARKS: readonly Benchmark[] = [
  oneCaller,
  manyCallers,
  manyProcesses,
  longJournal,
  open,
  storeAppend,
  longSession,
  manySessions,
  commandLine,
  commits,
  httpAppend,
  hostile,
  catalogList,
  catalogSearch,
  catalogAppend,
  recall,
  redaction,
  erase,
  encryption,
  httpFollowers,
  httpMemory,
  transfer,
  postgresAppend,
  postgresCatalog,
  adapters,
  web,
]
