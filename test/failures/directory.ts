/** A store in a real directory, for one test. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import type { Engine } from '../../src/engine/port.ts'
import { type Opened, type OpenOptions, open } from './journal.ts'

export interface Place {
  readonly directory: string
  /** Opens the store once more; closed when the test is over. */
  open(options?: Partial<OpenOptions>): Promise<Opened>
  /** Every file of every session, by path below the store. */
  segments(): Promise<Map<string, Buffer>>
}

/** Registers the making and removing of a directory for each test of a file. */
export function useDirectory(): () => Place {
  let directory = ''
  let engines: Engine[] = []
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'holdfast-'))
    engines = []
  })
  afterEach(async () => {
    for (const engine of engines) await engine.close()
    await rm(directory, { recursive: true })
  })
  return () => ({
    directory,
    open: async (options = {}) => {
      const opened = await open({ directory, ...options })
      engines.push(opened.engine)
      return opened
    },
    segments: async () => {
      const files = new Map<string, Buffer>()
      const names = await readdir(directory, { recursive: true })
      for (const name of names.sort())
        if (name.endsWith('.jsonl') && name.startsWith('sessions')) files.set(name, await readFile(join(directory, name)))
      return files
    },
  })
}

export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made by the test`), { code })
}
