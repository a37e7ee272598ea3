/** A thread of the catalog, or one that reads for it: opens the files of the store, and answers until it is asked to close. Started by threaded.ts. */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../engine/clock.ts'
import { systemIds } from '../engine/ids.ts'
import { openFilesEngine } from '../engines/files/engine.ts'
import { sessionReducer } from '../session/reducer.ts'
import { Examiner } from './examiner.ts'
import { CatalogService } from './service.ts'
import { type Answer, type Question, spawnReader, type ThreadData, tellable } from './threaded.ts'

const { directory, role } = workerData as ThreadData

const [clock, ids] = [systemClock, systemIds]
const opening = openFilesEngine({ directory, keysOf: sessionReducer.keysOf, mayBlock: true, clock, ids }).then((engine) => {
  const spawn = () => spawnReader(directory)
  const service = role === 'catalog' ? new CatalogService({ engine, clock, ids, spawn }) : new Examiner({ engine }, new Set())
  return { engine, service }
})
opening.catch(() => undefined)

async function answer({ method, words }: Question): Promise<unknown> {
  const { engine, service } = await opening
  if (method !== 'close') return (service as unknown as Record<string, (...words: unknown[]) => Promise<unknown>>)[method]?.(...words)
  if (service instanceof CatalogService) await service.close()
  await engine.close()
  return undefined
}

parentPort?.on('message', (question: Question) => {
  const tell = (told: Omit<Answer, 'id'>): void => parentPort?.postMessage({ id: question.id, ...told })
  answer(question).then(
    (result) => tell({ result }),
    (error: unknown) => tell({ error: tellable(error) }),
  )
})
