/** A thread of the catalog, or one that reads for it: opens the store, and answers until it is told to close. Started by threaded.ts. */
import { parentPort, workerData } from 'node:worker_threads'
import { openStore } from '../store/open-store.ts'
import { Examiner } from './examiner.ts'
import { CatalogService } from './service.ts'
import { type Answer, type Question, spawnReader, type ThreadData, tellable } from './threaded.ts'

const { directory, role } = workerData as ThreadData

const opening = openStore(directory, { mayBlock: true }).then((store) => {
  const spawn = () => spawnReader(directory)
  const service = role === 'catalog' ? new CatalogService({ ...store.parts, spawn }) : new Examiner(store.parts.engine, new Set())
  return { store, service }
})
opening.catch(() => undefined)

async function answer({ method, words }: Question): Promise<unknown> {
  const { store, service } = await opening
  if (method !== 'close') return (service as unknown as Record<string, (...words: unknown[]) => Promise<unknown>>)[method]?.(...words)
  if (service instanceof CatalogService) await service.close()
  await store.close()
  return undefined
}

parentPort?.on('message', (question: Question) => {
  const tell = (told: Omit<Answer, 'id'>): void => parentPort?.postMessage({ id: question.id, ...told })
  answer(question).then(
    (result) => tell({ result }),
    (error: unknown) => tell({ error: tellable(error) }),
  )
})
