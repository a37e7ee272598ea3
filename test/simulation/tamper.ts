/**
 * Another program that works on the files of a store: it cuts, deletes, replaces, links and copies them, as `truncate`, `rm`, `mv`, `ln` and
 * `cp` do. It asks no process, and what it does is durable at once.
 */
import { SimulatedDirectory } from './directory.ts'
import { diskError } from './faults.ts'
import { SimulatedFile } from './file.ts'
import { fileIn, filesUnder, findOrNothing, parentOf } from './tree.ts'

interface Access {
  readonly root: SimulatedDirectory
  /** With the inode of a file that no longer exists, where one is given. */
  newFile(directory: SimulatedDirectory, inode?: number): SimulatedFile
  unlink(file: SimulatedFile): void
  /** Changes the size of a file, and counts the bytes in use. */
  resize(file: SimulatedFile, change: () => void): void
}

export class Tamperer {
  readonly #access: Access

  constructor(access: Access) {
    this.#access = access
  }

  /** The file that a path names, if there is one. */
  file(path: string): SimulatedFile | undefined {
    const node = findOrNothing(this.#access.root, path)
    return node instanceof SimulatedFile ? node : undefined
  }

  /** The files below a directory, by path. */
  files(path: string): Map<string, SimulatedFile> {
    const node = findOrNothing(this.#access.root, path)
    return node instanceof SimulatedDirectory ? filesUnder(node, path) : new Map()
  }

  /** The files below a directory that would be there if the power failed now, by name. */
  durableFiles(path: string): Map<string, SimulatedFile> {
    let node: SimulatedDirectory | undefined = this.#access.root
    for (const name of path.split('/').filter((part) => part !== '')) {
      const next: unknown = node?.durable.get(name)
      node = next instanceof SimulatedDirectory ? next : undefined
    }
    return new Map([...(node?.durable ?? [])].filter((entry): entry is [string, SimulatedFile] => entry[1] instanceof SimulatedFile))
  }

  cut(path: string, size: number): void {
    const file = this.#file(path)
    this.#access.resize(file, () => file.cut(size))
  }

  /** Writes other content into the same file. */
  rewrite(path: string, content: Uint8Array): void {
    const file = this.#file(path)
    this.#access.resize(file, () => file.rewrite(content))
  }

  remove(path: string): void {
    const { directory, name } = parentOf(this.#access.root, path, 'remove')
    const file = fileIn(directory, name, 'remove', path)
    directory.force(name, undefined)
    this.#access.unlink(file)
  }

  removeDirectory(path: string): void {
    for (const file of this.files(path).keys()) this.remove(file)
    const { directory, name } = parentOf(this.#access.root, path, 'remove')
    directory.force(name, undefined)
  }

  /** Puts a new file in place, with the directories that lead to it. */
  put(path: string, content: Uint8Array, inode?: number): SimulatedFile {
    this.#makeDirectories(path)
    const { directory, name } = parentOf(this.#access.root, path, 'open')
    const before = this.file(path)
    const file = this.#access.newFile(directory, inode)
    this.#access.resize(file, () => file.rewrite(content))
    directory.force(name, file)
    if (before !== undefined) this.#access.unlink(before)
    return file
  }

  swap(one: string, other: string): void {
    const [a, b] = [this.#file(one), this.#file(other)]
    for (const [path, file] of [[one, b] as const, [other, a] as const]) {
      const { directory, name } = parentOf(this.#access.root, path, 'rename')
      directory.force(name, file)
      file.parent = directory
    }
  }

  /** Gives a file a second name. */
  link(path: string, other: string): void {
    const file = this.#file(path)
    this.#makeDirectories(other)
    const { directory, name } = parentOf(this.#access.root, other, 'rename')
    file.links++
    directory.force(name, file)
  }

  #file(path: string): SimulatedFile {
    const file = this.file(path)
    if (file === undefined) throw diskError('ENOENT', 'open', path)
    return file
  }

  #makeDirectories(path: string): void {
    let directory = this.#access.root
    for (const name of path
      .split('/')
      .filter((part) => part !== '')
      .slice(0, -1)) {
      let next = directory.entries.get(name)
      if (next === undefined) {
        next = new SimulatedDirectory()
        directory.force(name, next)
      }
      if (!(next instanceof SimulatedDirectory)) throw diskError('ENOTDIR', 'makeDirectory', path)
      directory = next
    }
  }
}
