/** `encryption`: the master key of a store, and the keys of its sessions. */
import { writeFileSync } from 'node:fs'
import { newMasterKey } from '../encryption/master-key.ts'
import { wrongUsage } from './arguments.ts'
import { type Context, masterKeyIn } from './context.ts'

export async function encryption(context: Context, [action, what]: ['new-key' | 'rotate' | 'destroy', string?]): Promise<void> {
  if (what === undefined) throw wrongUsage(`Name ${action === 'destroy' ? 'a session' : 'a file'}: holdfast encryption ${action} <…>.`)
  if (action === 'new-key') return newKey(context, what)
  return action === 'rotate' ? rotate(context, what) : destroy(context, what)
}

async function newKey({ out }: Context, file: string): Promise<void> {
  try {
    writeFileSync(file, `${newMasterKey()}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw wrongUsage(`${file} is there already. A master key is not written over.`)
    throw wrongUsage(`The key cannot be written: ${(error as Error).message}`)
  }
  await out.result({ file })
  out.note(`The master key is in ${file}. Keep a copy elsewhere: without it, nobody can read what it protects.`)
}

async function rotate(context: Context, file: string): Promise<void> {
  const { out, encryption: before } = context
  if (before === undefined) throw wrongUsage('Give the master key that the store has now with --master-key-file.')
  const store = await context.local({ encryption: { masterKey: masterKeyIn(file), formerKeys: [before.masterKey] } })
  if (store === undefined) throw wrongUsage('This works where the store is. Name its directory.')
  const progress = out.progress()
  const keys = await store.rotateKeys({ onProgress: (done) => progress.update(`${done} keys`) })
  progress.end()
  await out.result({ keys })
  out.note(`${keys} keys are wrapped by the key in ${file}. The former one opens nothing of this store any more.`)
}

async function destroy(context: Context, session: string): Promise<void> {
  const { out } = context
  const destroyed = await (await context.write()).destroyKey(session)
  await out.result({ session_id: session, destroyed })
  out.note(destroyed ? `The key of "${session}" is gone. Nobody can read it, here or in a backup.` : `"${session}" has no key.`)
}
