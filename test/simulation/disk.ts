/**
 * A simulated machine with a disk that does whatever a real one may do: it loses what was not synced, tears pages, fails calls, runs
 * full, and lets processes get in each other's way. What it decides, it decides under the seed of its scheduler.
 *
 * It keeps the promises that the engine is built on, and no others: synced content survives, names survive the sync of their own
 * directory, and all writes of a handle go to the end of the file. See file.ts for pages, directory.ts for names, open-file.ts for
 * handles and faults.ts for what can be made to go wrong.
 */
import type { Disk, DiskFile, FileStat, FileSystem } from '../../src/engines/files/disk.ts'
import { type Node, SimulatedDirectory, type Watcher } from './directory.ts'
import { type CallName, diskError, type FaultPlan, Faults } from './faults.ts'
import { SimulatedFile } from './file.ts'
import { type Host, OpenFile, statOf } from './open-file.ts'
import type { Random } from './random.ts'
import { MORE, type Scheduler, type SimulatedProcess, type Work } from './scheduler.ts'
import { Tamperer } from './tamper.ts'
import { fileIn, filesUnder, find, findDirectory, findOrNothing, isRoot, parentOf } from './tree.ts'

export interface MachineOptions {
  /** Small, so that tears fall inside of records. 64 by default. */
  readonly pageBytes?: number
  /** Bytes that fit on the disk. No limit by default. */
  readonly capacity?: number
  readonly faults?: FaultPlan
  /** How often the kernel writes something back by itself, per step. */
  readonly writeBackChance?: number
  /** How often an asynchronous write lands in parts, per part. */
  readonly splitChance?: number
  /** How often a sync takes longer, per step. Never by default. */
  readonly slowSyncChance?: number
  readonly fileSystem?: FileSystem
  /** False on a file system that does not record when a file was created. */
  readonly births?: boolean
}

export class SimulatedMachine {
  /** In bytes. May be changed at any time. */
  capacity: number
  readonly faults: Faults
  /**
   * Called on entry to every synchronous call, for what a test wants to happen exactly there. Code of other processes cannot run
   * there by itself: two processes that only ever write synchronously get between each other's calls in no other way.
   */
  between: ((process: SimulatedProcess, call: CallName, path: string) => void) | undefined
  /** Called with what was appended to a file. */
  landed: ((file: SimulatedFile, bytes: Uint8Array) => void) | undefined
  readonly #scheduler: Scheduler
  readonly #random: Random
  readonly #host: Host
  readonly #pageBytes: number
  readonly #writeBackChance: number
  readonly #fileSystem: FileSystem
  readonly #births: boolean
  readonly #root = new SimulatedDirectory()
  readonly #processes = new Set<SimulatedProcess>()
  readonly #handles = new Set<OpenFile>()
  readonly #dirty = new Set<Node>()
  #used = 0
  #inodes = 0
  #born = 0
  #entering = false
  #bootId: string

  constructor(scheduler: Scheduler, options: MachineOptions = {}) {
    this.#scheduler = scheduler
    this.#random = scheduler.random
    this.capacity = options.capacity ?? Number.POSITIVE_INFINITY
    this.faults = new Faults(this.#random, options.faults ?? {})
    this.#pageBytes = options.pageBytes ?? 64
    this.#writeBackChance = options.writeBackChance ?? 0.02
    this.#fileSystem = options.fileSystem ?? { type: 'ext4', mount: '/' }
    this.#births = options.births ?? true
    this.#bootId = this.#newBootId()
    this.#host = this.#makeHost(options.splitChance ?? 0.2, options.slowSyncChance ?? 0)
    scheduler.onStep(() => this.#writeBack())
  }

  /** Bytes in use, those of removed files that are still open included. */
  get used(): number {
    return this.#used
  }

  get bootId(): string {
    return this.#bootId
  }

  /** The disk as one process sees it. */
  disk(process: SimulatedProcess): Disk {
    if (process.alive && !this.#processes.has(process)) {
      this.#processes.add(process)
      process.exits.push(() => this.#leave(process))
    }
    const call = <T>(name: CallName, path: string, body: () => T): Promise<T> => {
      const perform = (): T => {
        this.faults.check(name, path)
        return body()
      }
      return this.#host.submit(process, name, path, { perform })
    }
    return {
      open: (path, mode) => call<DiskFile>('open', path, () => this.#open(process, path, mode)),
      statSync: (path) => {
        this.#host.enter(process, 'stat', path)
        return this.#host.observe(process, 'stat', path, () => {
          this.faults.check('stat', path)
          return this.#stat(path)
        })
      },
      makeDirectory: (path) => call('makeDirectory', path, () => this.#makeDirectory(path)),
      list: (path) => call('list', path, () => this.#list(path)),
      remove: (path) => call('remove', path, () => this.#remove(path)),
      rename: (from, to) => call('rename', from, () => this.#rename(from, to)),
      overwrite: (path, offset, was, bytes, sync = true) =>
        this.#host.submit(process, 'overwrite', path, this.#overwriting(path, offset, was, bytes, sync)),
      syncDirectory: (path) => call('syncDirectory', path, () => this.#syncDirectory(path)),
      fileSystem: (path) => call('fileSystem', path, () => this.#fileSystem),
      bootId: () => call('bootId', '', () => this.#bootId),
      watch: (path, hint) => this.#watch(process, path, hint),
    }
  }

  /** Nothing fails by itself any more. What was lost stays lost, and a full disk stays full. */
  heal(): void {
    this.faults.heal()
  }

  /** Every process dies; what is synced is still there, and any part of the rest. The machine is up again when this returns. */
  powerLoss(): void {
    const processes = [...this.#processes]
    while (processes.length > 0) {
      for (const process of processes.splice(this.#random.int(processes.length), 1)) this.#scheduler.kill(process)
    }
    this.#root.losePower(this.#random, new Set())
    this.#handles.clear()
    this.#dirty.clear()
    this.#used = 0
    for (const file of new Set(filesUnder(this.#root).values())) this.#used += file.size
    this.#bootId = this.#newBootId()
    this.#scheduler.note(undefined, () => 'power loss')
  }

  /** Flips a bit of a file, on the platter and in the cache. */
  rot(path: string, offset: number, bit = 0): void {
    const file = find(this.#root, path, 'read')
    if (!(file instanceof SimulatedFile)) throw diskError('EISDIR', 'read', path)
    file.rot(offset, bit)
  }

  /** What a process would read now, by path. */
  snapshot(): Map<string, Buffer> {
    const contents = new Map<string, Buffer>()
    const files = filesUnder(this.#root)
    for (const path of [...files.keys()].sort()) {
      const file = files.get(path) as SimulatedFile
      contents.set(path, file.read(0, file.size))
    }
    return contents
  }

  /** Another program that may do anything to the files. What it does is durable at once. */
  tamperer(): Tamperer {
    return new Tamperer({
      root: this.#root,
      newFile: (directory, inode) => this.#newFile(directory, inode),
      unlink: (file) => this.#unlink(file),
      resize: (file, change) => {
        const before = file.size
        change()
        this.#used += file.size - before
      },
    })
  }

  #newFile(directory: SimulatedDirectory, inode = ++this.#inodes): SimulatedFile {
    const file = new SimulatedFile(this.#pageBytes, inode, this.#births ? ++this.#born : 0)
    file.links = 1
    file.parent = directory
    return file
  }

  #makeHost(splitChance: number, slowSyncChance: number): Host {
    const observe = <T>(process: SimulatedProcess, call: CallName, path: string, body: () => T): T => {
      if (this.#scheduler.trace === undefined) return body()
      try {
        const result = body()
        this.#scheduler.note(process, () => `${call} ${path} -> ${describe(result)}`)
        return result
      } catch (error) {
        this.#scheduler.note(process, () => `${call} ${path} -> ${(error as Error).message}`)
        throw error
      }
    }
    return {
      random: this.#random,
      faults: this.faults,
      splitChance,
      slowSyncChance,
      observe,
      enter: (process, call, path) => this.#enter(process, call, path),
      submit: (process, call, path, work) =>
        this.#scheduler.submit(process, { ...work, perform: () => observe(process, call, path, work.perform) }),
      land: (file, bytes) => this.#land(file, bytes),
      flush: (file) => {
        file.flush()
        this.#dirty.delete(file)
      },
      kill: (process) => this.#scheduler.kill(process),
      release: (handle) => this.#release(handle),
    }
  }

  #enter(process: SimulatedProcess, call: CallName, path: string): void {
    if (process.alive && !this.#entering) {
      // What happens in between makes synchronous calls of its own, and nothing gets between those.
      this.#entering = true
      try {
        this.between?.(process, call, path)
        this.#scheduler.overtake(process)
      } finally {
        this.#entering = false
      }
    }
    if (!process.alive) throw diskError('ESRCH', call, path)
  }

  #leave(process: SimulatedProcess): void {
    this.#processes.delete(process)
    for (const handle of this.#handles) if (handle.process === process) this.#release(handle)
  }

  #open(process: SimulatedProcess, path: string, mode: 'append' | 'create' | 'read'): OpenFile {
    const { directory, name } = parentOf(this.#root, path, 'open')
    let node = directory.entries.get(name)
    if (node === undefined) {
      if (mode !== 'create') throw diskError('ENOENT', 'open', path)
      this.#checkRoomForName('open', path)
      node = this.#newFile(directory)
      this.#change(directory, () => directory.set(name, node as Node))
    }
    if (node instanceof SimulatedDirectory) throw diskError('EISDIR', 'open', path)
    const handle = new OpenFile(this.#host, process, node, path, mode !== 'read')
    node.handles.add(handle)
    this.#handles.add(handle)
    return handle
  }

  #stat(path: string): FileStat | undefined {
    const node = findOrNothing(this.#root, path)
    return node instanceof SimulatedFile ? statOf(node) : undefined
  }

  #makeDirectory(path: string): void {
    if (isRoot(path)) return
    const { directory, name } = parentOf(this.#root, path, 'makeDirectory')
    const existing = directory.entries.get(name)
    if (existing instanceof SimulatedFile) throw diskError('EEXIST', 'makeDirectory', path)
    if (existing !== undefined) return
    this.#checkRoomForName('makeDirectory', path)
    this.#change(directory, () => directory.set(name, new SimulatedDirectory()))
  }

  /** In any order: no file system promises one. */
  #list(path: string): string[] {
    const names = [...findDirectory(this.#root, path, 'list').entries.keys()]
    for (let left = names.length; left > 1; left -= 1) names.push(...names.splice(this.#random.int(left), 1))
    return names
  }

  #remove(path: string): void {
    const { directory, name } = parentOf(this.#root, path, 'remove')
    const file = fileIn(directory, name, 'remove', path)
    this.#change(directory, () => directory.delete(name))
    this.#unlink(file)
  }

  #rename(from: string, to: string): void {
    const source = parentOf(this.#root, from, 'rename')
    const target = parentOf(this.#root, to, 'rename')
    const file = fileIn(source.directory, source.name, 'rename', from)
    const replaced = target.directory.entries.get(target.name)
    if (replaced === file) return
    if (replaced instanceof SimulatedDirectory) throw diskError('EISDIR', 'rename', to)
    if (source.directory === target.directory) {
      this.#change(target.directory, () => target.directory.rename(source.name, target.name, file))
    } else {
      this.#change(target.directory, () => target.directory.set(target.name, file))
      this.#change(source.directory, () => source.directory.delete(source.name))
    }
    file.parent = target.directory
    if (replaced !== undefined) this.#unlink(replaced)
  }

  /** The bytes land, and are durable a step later: the power may fail between, and a process that is killed may have landed some. */
  #overwriting(path: string, offset: number, was: Uint8Array, bytes: Uint8Array, sync: boolean): Work<boolean> {
    let landed = false
    const land = (count: number): SimulatedFile => {
      const file = find(this.#root, path, 'overwrite')
      if (!(file instanceof SimulatedFile)) throw diskError('EISDIR', 'overwrite', path)
      file.overwrite(offset, bytes.subarray(0, count))
      this.#dirty.add(file)
      return file
    }
    const isSame = (): boolean => {
      const file = find(this.#root, path, 'overwrite')
      return file instanceof SimulatedFile && file.read(offset, was.length).equals(was)
    }
    const some = (): number => this.#random.int(bytes.length + 1)
    return {
      perform: () => {
        if (landed) {
          this.#host.flush(land(0))
          return true
        }
        if (!isSame()) return false
        if (this.faults.strikes('overwrite')) {
          land(some())
          throw this.faults.error('overwrite', path)
        }
        land(bytes.length)
        landed = true
        return sync ? MORE : true
      },
      abandon: () => {
        if (!landed && isSame()) land(some())
      },
    }
  }

  #syncDirectory(path: string): void {
    const directory = findDirectory(this.#root, path, 'syncDirectory')
    directory.sync()
    this.#dirty.delete(directory)
  }

  #watch(process: SimulatedProcess, path: string, hint: () => void): () => void {
    const directory = findDirectory(this.#root, path, 'list')
    let told = false
    const watcher: Watcher = {
      notify: () => {
        if (told || this.faults.strikes('hint')) return
        told = true
        this.#scheduler.post(process, () => {
          told = false
          if (directory.watchers.has(watcher)) hint()
        })
      },
    }
    const stop = (): void => {
      directory.watchers.delete(watcher)
    }
    directory.watchers.add(watcher)
    process.exits.push(stop)
    return stop
  }

  #land(file: SimulatedFile, bytes: Uint8Array): number {
    const room = Math.max(0, this.capacity - this.#used)
    const count = bytes.length <= room || room === 0 ? Math.min(bytes.length, room) : 1 + this.#random.int(room)
    if (count === 0) return 0
    file.append(bytes.subarray(0, count))
    this.#used += count
    this.#dirty.add(file)
    file.parent?.notify()
    this.landed?.(file, bytes.subarray(0, count))
    return count
  }

  #change(directory: SimulatedDirectory, change: () => void): void {
    change()
    this.#dirty.add(directory)
  }

  #unlink(file: SimulatedFile): void {
    file.links -= 1
    if (file.links === 0) file.parent = undefined
    this.#free(file)
  }

  #release(handle: OpenFile): void {
    handle.file.handles.delete(handle)
    this.#handles.delete(handle)
    this.#free(handle.file)
  }

  /** The space of a file comes back when it has neither a name nor a handle. */
  #free(file: SimulatedFile): void {
    if (file.links > 0 || file.handles.size > 0) return
    this.#used -= file.size
    this.#dirty.delete(file)
  }

  #checkRoomForName(call: CallName, path: string): void {
    if (this.#used >= this.capacity && this.faults.strikes('createWhenFull')) throw diskError('ENOSPC', call, path)
  }

  #writeBack(): void {
    if (this.#dirty.size === 0 || !this.#random.chance(this.#writeBackChance)) return
    const node = this.#random.pick([...this.#dirty])
    if (node instanceof SimulatedDirectory) node.writeBackOne()
    else if (this.faults.strikes('writeBack')) node.fail()
    else node.writeBackSome(this.#random)
    if (!node.dirty) this.#dirty.delete(node)
  }

  #newBootId(): string {
    return `boot-${this.#random.word().toString(16).padStart(8, '0')}`
  }
}

function describe(result: unknown): string {
  if (Buffer.isBuffer(result)) return `${result.length} bytes`
  if (result === MORE) return 'a part'
  if (result instanceof OpenFile) return 'handle'
  return result === undefined ? 'done' : JSON.stringify(result)
}
