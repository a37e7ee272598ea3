import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'vitest'
import { conformance } from '../../engine/conformance/index.ts'
import { openFilesEngine } from './engine.ts'

conformance(test, {
  open: async (keysOf) => {
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-'))
    const open = () => openFilesEngine({ directory, keysOf })
    return { engine: await open(), second: open, reopen: open, dispose: () => rm(directory, { recursive: true }) }
  },
})
