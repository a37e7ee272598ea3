/** Erases one message, or does what else is asked for at the same time, and ends. */
import { openStore } from '../../../src/store/open-store.ts'
import { childOptions } from '../child.ts'

export interface EraserOptions {
  readonly directory: string
  readonly session: string
  readonly message: string
  /** With this master key. */
  readonly masterKey?: string
}

const { directory, session, message, masterKey } = childOptions<EraserOptions>()
const store = await openStore(directory, {
  limits: { segmentBytes: 1500 },
  brief: true,
  ...(masterKey === undefined ? {} : { encryption: { masterKey } }),
})
await store.session(session).erase(message)
await store.close()
process.stdin.destroy()
