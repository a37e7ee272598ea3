/** A thread of the catalog, or one that reads for it: opens the files of the store, and answers until it is asked to close. Started by threaded.ts. */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../engine/clock.ts'
import { systemIds } from '../engine/ids.ts'
import { openFilesEngine } from '../engines/files/engine.ts'
import { sessionReducer } from '../session/reducer.ts'
import { Examiner } from './examiner.ts'
import { CatalogService } from './service.ts'
import { checkFile } from './sqlite/check.ts'
import { type Answer, checkInThread, type Question, spawnReader, type ThreadData, tellable } from './threaded.ts'

const { directory, store, role, ...threadFiles } = workerData as ThreadData
const { catalogFiles, readerFiles } = threadFiles

const [clock, ids] = [systemClock, systemIds]

interface Opened {
  readonly service: object
  close(): Promise<void>
}

let opening: Promise<Opened> | undefined

/** The next question tries again if this fails: the directory may be back by then. */
function open(): Promise<Opened> {
  opening ??= openNow().catch((error: unknown) => {
    opening = undefined
    throw error
  })
  return opening
}

async function openNow(): Promise<Opened> {
  if (role === 'checker') {
    const ending = new AbortController()
    const service = { checkFile: (path: string) => checkFile(path, ending.signal), endCheck: async () => ending.abort() }
    return { service, close: async () => undefined }
  }
  const files = role === 'catalog' ? catalogFiles : readerFiles
  const engine = await openFilesEngine({ directory, expected: store, files, keysOf: sessionReducer.keysOf, mayBlock: true, clock, ids })
  if (role === 'reader') return { service: new Examiner({ engine }, new Set()), close: () => engine.close() }
  // Without descriptors for other threads, this one reads and checks.
  const check = (path: string, signal?: AbortSignal) => checkInThread(directory, path, signal)
  const others = readerFiles === 0 ? {} : { spawn: () => spawnReader(directory, store, threadFiles), check }
  const service = new CatalogService({ engine, clock, ids, ...others })
  const close = async (): Promise<void> => {
    await service.close()
    await engine.close()
  }
  return { service, close }
}

async function answer({ method, words }: Question): Promise<unknown> {
  if (method === 'close') return (await opening?.catch(() => undefined))?.close()
  const { service } = await open()
  return (service as Record<string, (...words: unknown[]) => Promise<unknown>>)[method]?.(...words)
}

parentPort?.on('message', (question: Question) => {
  const tell = (told: Omit<Answer, 'id'>): void => parentPort?.postMessage({ id: question.id, ...told })
  answer(question).then(
    (result) => tell({ result }),
    (error: unknown) => tell({ error: tellable(error) }),
  )
})
