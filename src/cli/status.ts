/** `status`: how a store is: what is in it, what it takes, whether its disk keeps the promises, and what waits. */
import { readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { nodeDisk } from '../engines/files/node-disk.ts'
import { keepsPromise } from '../engines/files/promise.ts'
import { FORMAT_VERSION } from '../record/record.ts'
import type { TaskStatus } from '../session/state.ts'
import type { Context } from './context.ts'
import { collectSessions } from './sessions.ts'
import { inLine } from './terminal.ts'

const KINDS: readonly (readonly [string, RegExp])[] = [
  ['segments', /^sessions\/.*\.jsonl$/],
  ['id_files', /^sessions\/.*\.ids$/],
  ['feed', /^feed\//],
  ['catalog', /^catalog\.db/],
  ['reserve', /^reserve$/],
]

export async function status(context: Context): Promise<void> {
  const { out } = context
  const directory = context.directory()
  const store = await context.read()
  const sessions: Record<string, number> = { ok: 0, damaged: 0, unreadable: 0, deleted: 0 }
  let messages = 0
  for (const deleted of [false, true]) {
    for (const info of (await collectSessions(store, { deleted })).sessions) {
      sessions[info.status] = (sessions[info.status] ?? 0) + 1
      messages += info.totalMessageCount
    }
  }
  const tasks: Partial<Record<TaskStatus, number>> = {}
  // Counted up to a page of each: who has more waiting than that need not know how many.
  for (const one of ['pending', 'running', 'failed'] as const) tasks[one] = (await store.tasks({ status: one, limit: 1000 })).length
  const bytes = await sizesOf(directory)
  const [system, space] = [await nodeDisk.fileSystem(directory).catch(() => undefined), await statfs(directory).catch(() => undefined)]
  const free = space === undefined ? null : space.bavail * space.bsize
  const promise = system === undefined ? null : keepsPromise(system.type)
  const fields = {
    store: directory,
    sessions,
    messages,
    tasks,
    bytes,
    disk: { free_bytes: free, file_system: system?.type ?? null, mount: system?.mount ?? null, keeps_promises: promise },
    versions: { format: FORMAT_VERSION, node: process.version },
    warnings: store.warnings,
  }
  await out.result(fields, (colours) => {
    const damaged = (sessions.damaged ?? 0) + (sessions.unreadable ?? 0)
    const kept = promise === null ? 'unknown' : promise ? 'keeps appends in order' : colours.red('does not keep appends in order')
    return [
      `store       ${inLine(directory)}`,
      `sessions    ${sessions.ok} ok, ${damaged > 0 ? colours.red(`${damaged} damaged`) : '0 damaged'}, ${sessions.deleted} deleted; ${messages} messages`,
      `tasks       ${tasks.pending} pending, ${tasks.running} running, ${tasks.failed} failed`,
      `bytes       ${Object.entries(bytes)
        .map(([kind, size]) => `${size} ${kind.replace('_', ' ')}`)
        .join(', ')}`,
      `disk        ${free ?? '?'} bytes free; ${inLine(system?.type ?? '?')}, ${kept}`,
      `versions    format ${FORMAT_VERSION}, Node ${process.version}`,
    ].join('\n')
  })
  if ((sessions.damaged ?? 0) + (sessions.unreadable ?? 0) > 0) out.warn('There are damaged sessions. Run `holdfast doctor`.')
}

/** Bytes of all files, by what they are. */
async function sizesOf(directory: string): Promise<Record<string, number>> {
  const sizes: Record<string, number> = { segments: 0, id_files: 0, feed: 0, catalog: 0, reserve: 0, other: 0 }
  const names = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => [])
  for (const entry of names) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const below = path.slice(directory.length + 1).replaceAll('\\', '/')
    const kind = KINDS.find(([, pattern]) => pattern.test(below))?.[0] ?? 'other'
    const { size } = await stat(path).catch(() => ({ size: 0 }))
    sizes[kind] = (sizes[kind] ?? 0) + size
  }
  return sizes
}
