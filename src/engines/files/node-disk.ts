/** The real disk. Nothing but a translation of the port into Node's calls: no policy, no retries. */
import {
  close as closeFile,
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsync,
  open as openFile,
  openSync,
  read,
  readdir,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
  watch,
  write,
  writeSync,
} from 'node:fs'
import { mkdir, open, readFile, realpath, rename, statfs, unlink } from 'node:fs/promises'
import { hostname, uptime } from 'node:os'
import { type Disk, type DiskFile, errorCode, type FileStat, type FileSystem } from './disk.ts'

// Opening a pipe that lies where a file should be would wait for its other end. Windows has no such flag.
const { O_RDWR, O_RDONLY, O_APPEND, O_CREAT, O_NONBLOCK = 0 } = constants
const FLAGS = { append: O_RDWR | O_APPEND | O_NONBLOCK, create: O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK, read: O_RDONLY | O_NONBLOCK }

const BOOT_ID = '/proc/sys/kernel/random/boot_id'

export const nodeDisk: Disk = {
  // Through numbers and callbacks: a FileHandle, and a promise of it for each call, take longer than most of what is asked of them.
  open: (path, mode) =>
    new Promise((resolve, reject) => {
      openFile(path, FLAGS[mode], 0o600, (error, fd) => (error === null ? resolve(new NodeFile(fd)) : reject(error)))
    }),

  makeDirectory: async (path) => {
    try {
      await mkdir(path, { mode: 0o700 })
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error
    }
  },

  statSync: (path) => {
    const stats = statSync(path, { throwIfNoEntry: false })
    return stats === undefined ? undefined : fileStatOf(stats)
  },

  list: (path) => new Promise((resolve, reject) => readdir(path, (error, names) => (error === null ? resolve(names) : reject(error)))),
  remove: (path) => unlink(path),
  rename: (from, to) => rename(from, to),

  overwrite: async (path, offset, was, bytes, sync = true) => {
    // Through a handle of its own: what is opened for appending writes to the end, whatever it is told.
    const handle = await open(path, O_RDWR)
    try {
      const file = new NumberedFile(handle.fd)
      if (!file.readSync(offset, was.length).equals(was)) return false
      for (let done = 0; done < bytes.length; ) done += writeSync(handle.fd, bytes, done, bytes.length - done, offset + done)
      if (sync) await file.sync()
      return true
    } finally {
      await handle.close()
    }
  },

  syncDirectory: async (path) => {
    // Windows cannot open a directory to sync it; docs/format.md states it as a limit.
    if (process.platform !== 'win32') await sharedSync(path)
  },

  fileSystem: async (path) => {
    if (process.platform !== 'linux') return undefined
    const found = mountOf(await realpath(path), await readFile('/proc/self/mountinfo', 'utf8'))
    return found ?? { type: `0x${(await statfs(path)).type.toString(16)}`, mount: path }
  },

  bootId: async () => {
    if (process.platform === 'linux') return (await readFile(BOOT_ID, 'utf8')).trim()
    // Rounded, because both clocks drift; a wrong answer costs one sweep.
    return `${hostname()}-${Math.round((Date.now() / 1000 - uptime()) / 60)}`
  },

  watch: (path, hint) => {
    const watcher = watch(path, { persistent: false }, hint)
    // A watch that ends is a hint that no longer comes; readers poll as well.
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  },
}

/**
 * The same for a thread that does nothing but look at journals, and may wait. Handing a call to Node's pool of threads and back costs several times
 * what it takes to list a directory or to read a file that was used lately; so these are done at once. Syncs are not: many can be under way
 * together, and the device has one flush for all.
 */
export const blockingDisk: Disk = {
  ...nodeDisk,
  open: async (path, mode) => new BlockingFile(openSync(path, FLAGS[mode], 0o600)),
  list: async (path) => readdirSync(path),
  fileSystem: async (path) => {
    if (process.platform !== 'linux') return undefined
    const found = mountOf(realpathSync(path), readFileSync('/proc/self/mountinfo', 'utf8'))
    return found ?? nodeDisk.fileSystem(path)
  },
  bootId: async () => (process.platform === 'linux' ? readFileSync(BOOT_ID, 'utf8').trim() : nodeDisk.bootId()),
}

interface Sync {
  readonly now: Promise<void>
  next?: Promise<void>
}

const syncing = new Map<string, Sync>()

/**
 * Sessions that are looked at together lie in the same directory: who comes while a sync of it is under way shares the next one. To open and to close a
 * directory is not worth a thread: whoever syncs it has just found something in it.
 */
function sharedSync(path: string): Promise<void> {
  const running = syncing.get(path)
  if (running === undefined) return beginSync(path)
  running.next ??= running.now.then(
    () => beginSync(path),
    () => beginSync(path),
  )
  return running.next
}

function beginSync(path: string): Promise<void> {
  const now = syncDirectoryNow(path)
  const sync: Sync = { now }
  syncing.set(path, sync)
  const ended = (): void => {
    if (sync.next === undefined) syncing.delete(path)
  }
  now.then(ended, ended)
  return now
}

async function syncDirectoryNow(path: string): Promise<void> {
  const fd = openSync(path, O_RDONLY)
  try {
    await new Promise<void>((resolve, reject) => fsync(fd, (error) => (error === null ? resolve() : reject(error))))
  } finally {
    closeSync(fd)
  }
}

function fileStatOf({ size, nlink, ino, birthtimeMs, ctimeMs, dev }: Stats): FileStat {
  return { size, links: nlink, inode: ino, createdMs: birthtimeMs, changedMs: ctimeMs, device: dev }
}

/** Where the ends of files are read to. Nothing waits between that and the comparison. */
const ENDS = Buffer.alloc(64)

/** What is done at once, on the number of an open file. */
class NumberedFile {
  readonly #fd: number

  constructor(fd: number) {
    this.#fd = fd
  }

  stat(): FileStat {
    return fileStatOf(fstatSync(this.#fd))
  }

  readSync(offset: number, length: number): Buffer {
    const buffer = Buffer.allocUnsafe(length)
    let done = 0
    while (done < length) {
      const count = readSync(this.#fd, buffer, done, length - done, offset + done)
      if (count === 0) break
      done += count
    }
    return buffer.subarray(0, done)
  }

  endsSync(offset: number, bytes: Uint8Array): boolean {
    const { length } = bytes
    const found = length < ENDS.length ? ENDS : Buffer.allocUnsafe(length + 1)
    return readSync(this.#fd, found, 0, length + 1, offset - length) === length && found.compare(bytes, 0, length, 0, length) === 0
  }

  writeSync(bytes: Uint8Array): number {
    return writeSync(this.#fd, bytes)
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fdatasync(this.#fd, (error) => (error === null ? resolve() : reject(error)))
    })
  }
}

class NodeFile extends NumberedFile implements DiskFile {
  readonly #fd: number

  constructor(fd: number) {
    super(fd)
    this.#fd = fd
  }

  async read(offset: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length)
    let done = 0
    while (done < length) {
      const count = await this.#readInto(buffer, done, offset + done)
      if (count === 0) break
      done += count
    }
    return buffer.subarray(0, done)
  }

  write(bytes: Uint8Array): Promise<number> {
    return new Promise((resolve, reject) => write(this.#fd, bytes, (error, count) => (error === null ? resolve(count) : reject(error))))
  }

  close(): Promise<void> {
    return new Promise((resolve, reject) => closeFile(this.#fd, (error) => (error == null ? resolve() : reject(error))))
  }

  #readInto(buffer: Buffer, done: number, position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      read(this.#fd, buffer, done, buffer.length - done, position, (error, count) => (error === null ? resolve(count) : reject(error)))
    })
  }
}

class BlockingFile extends NumberedFile implements DiskFile {
  readonly #fd: number

  constructor(fd: number) {
    super(fd)
    this.#fd = fd
  }

  async read(offset: number, length: number): Promise<Buffer> {
    return this.readSync(offset, length)
  }

  async write(bytes: Uint8Array): Promise<number> {
    return this.writeSync(bytes)
  }

  async close(): Promise<void> {
    closeSync(this.#fd)
  }
}

/** The mount that holds a path: of all mount points that are a prefix of it, the longest, and of those the last. */
export function mountOf(path: string, mountInfo: string): FileSystem | undefined {
  let best: FileSystem | undefined
  for (const line of mountInfo.split('\n')) {
    const [before, after] = line.split(' - ')
    const mount = before?.split(' ')[4]?.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
    const type = after?.split(' ')[0]
    if (mount === undefined || type === undefined) continue
    const inside = path === mount || path.startsWith(mount.endsWith('/') ? mount : `${mount}/`)
    if (inside && mount.length >= (best?.mount.length ?? 0)) best = { type, mount }
  }
  return best
}
