/** Golden stores are never touched: whoever wants to open one opens a copy. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type OpenOptions, openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'

interface Copy extends AsyncDisposable {
  readonly directory: string
  /** With the master key that lies beside the store, if one does. */
  open(options?: OpenOptions): Promise<Store>
}

export function copyOf(home: string): Copy {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-golden-'))
  cpSync(join(home, 'store'), directory, { recursive: true })
  const keyFile = join(home, 'master.key')
  const sealed = existsSync(keyFile) ? { encryption: { masterKey: readFileSync(keyFile, 'utf8').trim() } } : {}
  return {
    directory,
    open: (options = {}) => openStore(directory, { ...options, ...sealed }),
    [Symbol.asyncDispose]: async () => rmSync(directory, { recursive: true, force: true }),
  }
}
