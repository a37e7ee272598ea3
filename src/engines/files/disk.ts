/**
 * The only access to the operating system: everything that the files engine asks of a disk. Small, so that the same engine runs on the
 * real disk and on a simulated one that loses what was not synced, tears writes, fails any call and interleaves processes.
 *
 * Calls fail with an Error that has a `code` as Node's do (ENOENT, ENOSPC, EIO, …). Calls that do not return a promise are done when
 * they return, and take microseconds; between two of them no other call of this process runs, but those of other processes may.
 */
export interface Disk {
  /**
   * `append`: read and write, every write goes to the end of the file; the file must exist.
   * `create`: the same, and makes a file that is missing (readable by its owner only).
   * `read`: read only.
   */
  open(path: string, mode: 'append' | 'create' | 'read'): Promise<DiskFile>
  /** Makes one directory, for its owner only; one that exists is fine. Its parent must exist. */
  makeDirectory(path: string): Promise<void>
  /** What a path names now; undefined if it names nothing. Done when it returns. */
  statSync(path: string): FileStat | undefined
  /** Names in a directory. */
  list(path: string): Promise<string[]>
  /** Removes a file. */
  remove(path: string): Promise<void>
  /** Puts a file in the place of another. Only for what is derived. */
  rename(from: string, to: string): Promise<void>
  /**
   * Writes over bytes in the middle of a file, if they are still what they were; false if they are not. Between looking and writing nothing else
   * of this process runs. Durable on return, unless `sync` is false: only for what is derived. If the power fails meanwhile, some of the bytes
   * may be new and others old.
   */
  overwrite(path: string, offset: number, was: Uint8Array, bytes: Uint8Array, sync?: boolean): Promise<boolean>
  /** Makes the names in a directory durable. */
  syncDirectory(path: string): Promise<void>
  /** The file system that a path is on, or undefined where the platform does not tell. */
  fileSystem(path: string): Promise<FileSystem | undefined>
  /** Changes when the machine starts anew. */
  bootId(): Promise<string>
  /** Calls back when a name in the directory may have changed. A hint. Returns how to stop. */
  watch(path: string, hint: () => void): () => void
}

export interface DiskFile {
  stat(): FileStat
  /** Up to `length` bytes from `offset`; fewer only at the end of the file. */
  readSync(offset: number, length: number): Buffer
  /** Whether the file ends at this offset, preceded by these bytes. One read answers both. */
  endsSync(offset: number, bytes: Uint8Array): boolean
  read(offset: number, length: number): Promise<Buffer>
  /** One write to the end of the file. Returns how many bytes were taken, which may be fewer. */
  writeSync(bytes: Uint8Array): number
  write(bytes: Uint8Array): Promise<number>
  /** Makes the content and the size durable, whoever wrote it. After a failure the content must be taken for lost. */
  sync(): Promise<void>
  close(): Promise<void>
}

export interface FileStat {
  /** In bytes. */
  readonly size: number
  /** How many names it has: 0 once it was removed. */
  readonly links: number
  /** Tells files of one file system apart while they exist. The number of a removed file comes back. */
  readonly inode: number
  /** When it was created; 0 where the file system does not record it. */
  readonly createdMs: number
  /** Another value after each change of the content. */
  readonly changedMs: number
  readonly device: number
}

export interface FileSystem {
  readonly type: string
  readonly mount: string
}

/** Whether two files that exist now are one. The number of a file is unique only on its device: another mount has the same numbers. */
export function isSameFile(one: Pick<FileStat, 'inode' | 'device'>, other: Pick<FileStat, 'inode' | 'device'>): boolean {
  return one.inode === other.inode && one.device === other.device
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
