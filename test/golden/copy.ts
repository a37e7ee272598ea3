/** Golden stores are never touched: whoever wants to open one opens a copy. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export function copyOf(store: string): AsyncDisposable & { readonly directory: string } {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-golden-'))
  cpSync(store, directory, { recursive: true })
  return { directory, [Symbol.asyncDispose]: async () => rmSync(directory, { recursive: true, force: true }) }
}
