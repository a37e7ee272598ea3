/**
 * Prints, as JSON, the files of src/ on the stack between `Session.append` and the `fdatasync` that makes it durable: those of the calls that led
 * to it, also across promises.
 */
import { createHook, executionAsyncId } from 'node:async_hooks'
import fs, { mkdtempSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/index.ts'

interface Resource {
  readonly files: readonly string[]
  /** What created it, and what ran at that time. */
  readonly from: readonly number[]
}

const resources = new Map<number, Resource>()
let isAppending = false
Error.stackTraceLimit = 200

function filesNow(): string[] {
  const { stack = '' } = new Error()
  return [...stack.matchAll(/\/build\/src\/([^:)\n]+):\d+/g)].map(([, file]) => file as string)
}

/** The files of all calls that led to the one that runs now. */
function filesBefore(): Set<string> {
  const files = new Set(filesNow())
  const visited = new Set<number>()
  const visit = (id: number): void => {
    const resource = resources.get(id)
    if (resource === undefined || visited.has(id)) return
    visited.add(id)
    for (const file of resource.files) files.add(file)
    resource.from.forEach(visit)
  }
  visit(executionAsyncId())
  return files
}

createHook({
  init(id, _, trigger) {
    if (isAppending) resources.set(id, { files: filesNow(), from: [trigger, executionAsyncId()] })
  },
}).enable()

const { fdatasync } = fs
fs.fdatasync = ((fd, callback) => {
  if (isAppending) process.stdout.write(`${JSON.stringify([...filesBefore()])}\n`)
  return fdatasync(fd, callback)
}) as typeof fs.fdatasync
syncBuiltinESMExports()

const directory = mkdtempSync(join(tmpdir(), 'holdfast-stack-'))
{
  await using store = await openStore(directory)
  const session = store.session('a')
  for (let i = 0; i < 3; i++) await session.append({ role: 'user', content: 'before' })
  isAppending = true
  await session.append({ role: 'user', content: 'now' })
  isAppending = false
}
rmSync(directory, { recursive: true })
