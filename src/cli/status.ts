/** `status`: how a store is: what is in it, what it takes, whether its disk keeps the promises, and what waits. */
import { readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { keepsAppendOrder } from '../engines/files/append-order.ts'
import { nodeDisk } from '../engines/files/node-disk.ts'
import { FORMAT_VERSION } from '../record/record.ts'
import type { Context } from './context.ts'
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
  const { directory, address } = context
  const store = await context.here('read')
  const { sessions, messages, tasks, lag, bytes: stored } = await store.stats()
  const catalog = await store.catalogStatus()
  const damaged = sessions.damaged + sessions.unreadable
  const { bytes, disk } = directory === undefined ? { bytes: { lines: stored }, disk: null } : await diskOf(directory)
  const fields = {
    store: address,
    sessions,
    messages: messages.live + messages.archived,
    tasks,
    catalog: { state: catalog.state, reason: catalog.reason, lag_bytes: lag?.bytes ?? 0 },
    bytes,
    ...(disk === null ? {} : { disk }),
    versions: { format: FORMAT_VERSION, node: process.version },
    warnings: store.warnings,
  }
  await out.result(fields, (colours) => {
    const kept =
      disk?.keeps_promises === false
        ? colours.red('does not keep appends in order')
        : disk?.keeps_promises
          ? 'keeps appends in order'
          : 'unknown'
    return [
      `store       ${inLine(address)}`,
      `sessions    ${sessions.ok} ok, ${damaged > 0 ? colours.red(`${damaged} damaged`) : '0 damaged'}, ${sessions.deleted} deleted; ${messages.live + messages.archived} messages`,
      `tasks       ${tasks.pending} pending, ${tasks.running} running, ${tasks.failed} failed`,
      `catalog     ${catalog.state}${lag === null ? '' : `, ${lag.bytes} bytes behind`}${catalog.reason === null ? '' : `. ${inLine(catalog.reason)}`}`,
      `bytes       ${Object.entries(bytes)
        .map(([kind, size]) => `${size} ${kind.replace('_', ' ')}`)
        .join(', ')}`,
      ...(disk === null ? [] : [`disk        ${disk.free_bytes ?? '?'} bytes free; ${inLine(disk.file_system ?? '?')}, ${kept}`]),
      `versions    format ${FORMAT_VERSION}, Node ${process.version}`,
    ].join('\n')
  })
  if (damaged > 0) out.warn('There are damaged sessions. Run `holdfast doctor`.')
}

/** What the files of a store take, and the disk that they lie on. */
async function diskOf(directory: string) {
  const [system, space] = [await nodeDisk.fileSystem(directory).catch(() => undefined), await statfs(directory).catch(() => undefined)]
  const free = space === undefined ? null : space.bavail * space.bsize
  const kept = system === undefined ? null : keepsAppendOrder(system.type)
  const disk = { free_bytes: free, file_system: system?.type ?? null, mount: system?.mount ?? null, keeps_promises: kept }
  return { bytes: await sizesOf(directory), disk }
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
