/** The ways in which a system call can fail a program, and in which of its lives that is tried. */
import type { Life } from './scenario/main.ts'

export interface Trial {
  /** What fails, as the end of a sentence. */
  readonly title: string
  readonly syscall: RegExp
  /** In the words of strace. */
  readonly how: string
  readonly lives: readonly Life[]
  /** Not once, but from then on. */
  readonly forever?: boolean
  /** Only every other call on a file, beginning with the first: the ones between add nothing. */
  readonly sparse?: boolean
  /** On all files, counted together. */
  readonly everywhere?: boolean
  /** An answer that some of the runs must get: the failure arrived where a caller can see it. */
  readonly answer?: string
}

const WRITE = /^write$/
const SYNC = /^fdatasync$/
const SYNC_DIRECTORY = /^fsync$/
const OPEN = /^openat$/
const READ = /^pread64$/
const SIZE = /^statx$/
const LIST = /^getdents64$/
// These have two names, of which each machine uses one.
const MAKE = /^mkdir(at)?$/
const RENAME = /^rename(at2?)?$/
const CLOSE = /^close$/

const EVERY: readonly Life[] = ['new', 'pooled', 'old']
const BOTH: readonly Life[] = ['new', 'old']
const NEW: readonly Life[] = ['new']

export const TRIALS: readonly Trial[] = [
  { title: 'a write that finds the disk full', syscall: WRITE, how: 'error=ENOSPC', lives: EVERY, answer: 'NO_SPACE none' },
  { title: 'a write that fails', syscall: WRITE, how: 'error=EIO', lives: EVERY, answer: 'UNAVAILABLE none' },
  // Node asks the system at once for the rest, which then stands without its beginning.
  { title: 'a write that is said to have taken ten bytes and took none', syscall: WRITE, how: 'retval=10', lives: ['pooled'] },
  { title: 'a file that takes no more', syscall: WRITE, how: 'error=ENOSPC', lives: NEW, forever: true, answer: 'NO_SPACE none' },
  { title: 'a kill at a write', syscall: WRITE, how: 'signal=KILL', lives: BOTH },
  { title: 'a sync of a file that fails', syscall: SYNC, how: 'error=EIO', lives: BOTH, answer: 'UNAVAILABLE unknown' },
  {
    title: 'a file that can no longer be synced',
    syscall: SYNC,
    how: 'error=EIO',
    lives: NEW,
    forever: true,
    answer: 'UNAVAILABLE unknown',
  },
  {
    title: 'a disk that stores nothing any more',
    syscall: SYNC,
    how: 'error=EIO',
    lives: NEW,
    forever: true,
    everywhere: true,
    answer: 'UNAVAILABLE unknown',
  },
  { title: 'a kill at the sync of a file', syscall: SYNC, how: 'signal=KILL', lives: BOTH },
  { title: 'a sync of a directory that fails', syscall: SYNC_DIRECTORY, how: 'error=EIO', lives: BOTH, answer: 'UNAVAILABLE none' },
  {
    title: 'a directory that can no longer be synced',
    syscall: SYNC_DIRECTORY,
    how: 'error=EIO',
    lives: NEW,
    forever: true,
    answer: 'UNAVAILABLE unknown',
  },
  { title: 'a kill at the sync of a directory', syscall: SYNC_DIRECTORY, how: 'signal=KILL', lives: NEW },
  // The call is repeated, so no caller gets an answer of its own for this.
  { title: 'too many open files', syscall: OPEN, how: 'error=EMFILE', lives: BOTH },
  { title: 'a file or directory that may not be opened', syscall: OPEN, how: 'error=EACCES', lives: BOTH, answer: 'UNREADABLE none' },
  { title: 'a kill when a file or directory is opened', syscall: OPEN, how: 'signal=KILL', lives: NEW, sparse: true },
  { title: 'a read that fails', syscall: READ, how: 'error=EIO', lives: BOTH, answer: 'UNREADABLE none' },
  { title: 'a file whose size cannot be told', syscall: SIZE, how: 'error=EIO', lives: BOTH, answer: 'UNREADABLE none' },
  // A list takes two calls, of which the second only tells that there is no more.
  { title: 'a directory that cannot be listed', syscall: LIST, how: 'error=EIO', lives: BOTH, sparse: true, answer: 'UNREADABLE none' },
  { title: 'a directory that finds no room', syscall: MAKE, how: 'error=ENOSPC', lives: NEW, answer: 'NO_SPACE none' },
  { title: 'a kill when a directory is made', syscall: MAKE, how: 'signal=KILL', lives: NEW },
  { title: 'a rename that fails', syscall: RENAME, how: 'error=EIO', lives: BOTH },
  { title: 'a kill at a rename', syscall: RENAME, how: 'signal=KILL', lives: BOTH },
  { title: 'a file that cannot be closed', syscall: CLOSE, how: 'error=EIO', lives: NEW, sparse: true },
]
