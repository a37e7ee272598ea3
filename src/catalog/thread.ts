/** The thread of the catalog: opens the store, and answers until it is told to close. Started by threaded.ts. */
import { parentPort, workerData } from 'node:worker_threads'
import { openStore } from '../store/open-store.ts'
import { CatalogService } from './service.ts'
import { type Answer, type Question, tellable } from './threaded.ts'

const { directory } = workerData as { directory: string }
const opening = openStore(directory).then((store) => ({ store, service: new CatalogService(store.parts) }))
opening.catch(() => undefined)

async function answer({ method, query }: Question): Promise<unknown> {
  const { store, service } = await opening
  if (method !== 'close') return (service[method] as (query: unknown) => Promise<unknown>)(query)
  await service.close()
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
