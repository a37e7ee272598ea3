/** Finding things by path, below a root. Paths are absolute; what is missing is an error as node:fs would give it. */
import { type Node, SimulatedDirectory } from './directory.ts'
import { type CallName, diskError } from './faults.ts'
import type { SimulatedFile } from './file.ts'

export function find(root: SimulatedDirectory, path: string, call: CallName): Node {
  return walk(root, segments(path), path, call)
}

/** Undefined if the path names nothing. */
export function findOrNothing(root: SimulatedDirectory, path: string): Node | undefined {
  let node: Node | undefined = root
  for (const name of segments(path)) node = node instanceof SimulatedDirectory ? node.entries.get(name) : undefined
  return node
}

export function findDirectory(root: SimulatedDirectory, path: string, call: CallName): SimulatedDirectory {
  return asDirectory(find(root, path, call), path, call)
}

/** The directory in which a path is, or would be, named. */
export function parentOf(root: SimulatedDirectory, path: string, call: CallName): { directory: SimulatedDirectory; name: string } {
  const names = segments(path)
  const name = names.pop()
  if (name === undefined) throw diskError('EISDIR', call, path)
  return { directory: asDirectory(walk(root, names, path, call), path, call), name }
}

export function fileIn(directory: SimulatedDirectory, name: string, call: CallName, path: string): SimulatedFile {
  const node = directory.entries.get(name)
  if (node === undefined) throw diskError('ENOENT', call, path)
  if (node instanceof SimulatedDirectory) throw diskError('EISDIR', call, path)
  return node
}

/** All files by path. One that has two names is there twice. */
export function filesUnder(directory: SimulatedDirectory, path = '', files = new Map<string, SimulatedFile>()): Map<string, SimulatedFile> {
  for (const [name, node] of directory.entries) {
    if (node instanceof SimulatedDirectory) filesUnder(node, `${path}/${name}`, files)
    else files.set(`${path}/${name}`, node)
  }
  return files
}

export function isRoot(path: string): boolean {
  return segments(path).length === 0
}

function segments(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.')
}

function walk(root: SimulatedDirectory, names: readonly string[], path: string, call: CallName): Node {
  let node: Node = root
  for (const name of names) {
    const next = asDirectory(node, path, call).entries.get(name)
    if (next === undefined) throw diskError('ENOENT', call, path)
    node = next
  }
  return node
}

function asDirectory(node: Node, path: string, call: CallName): SimulatedDirectory {
  if (!(node instanceof SimulatedDirectory)) throw diskError('ENOTDIR', call, path)
  return node
}
