/**
 * A disk that waits while the system has no file to give (EMFILE, ENFILE) or no memory (ENOMEM). Nothing was tried then, so the call is repeated: at once
 * after files that nobody uses were closed, and then again and again until others have closed theirs. After two seconds the refusal is the answer. Calls
 * that succeed pay nothing for this.
 */
import type { Clock } from '../../engine/clock.ts'
import type { Disk } from './disk.ts'
import { isExhausted } from './failures.ts'

const WAIT_MS = 2000
const FIRST_PAUSE_MS = 2
const LONGEST_PAUSE_MS = 100

/** `relieve` closes files that are open for later use only. */
export function patientDisk(disk: Disk, clock: Pick<Clock, 'monotonicMs' | 'sleep'>, relieve: () => Promise<void>): Disk {
  async function repeat<T>(call: () => Promise<T>, first: unknown): Promise<T> {
    const until = clock.monotonicMs() + WAIT_MS
    let refusal = first
    for (let pauseMs = 0; ; pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, 2 * pauseMs))) {
      if (!isExhausted(refusal) || clock.monotonicMs() >= until) throw refusal
      if (pauseMs > 0) await clock.sleep(pauseMs)
      await relieve()
      try {
        return await call()
      } catch (error) {
        refusal = error
      }
    }
  }
  const patiently = <T>(call: () => Promise<T>): Promise<T> => call().catch((error: unknown) => repeat(call, error))
  return {
    open: (path, mode) => patiently(() => disk.open(path, mode)),
    list: (path) => patiently(() => disk.list(path)),
    overwrite: (path, offset, was, bytes, sync) => patiently(() => disk.overwrite(path, offset, was, bytes, sync)),
    syncDirectory: (path) => patiently(() => disk.syncDirectory(path)),
    fileSystem: (path) => patiently(() => disk.fileSystem(path)),
    bootId: () => patiently(() => disk.bootId()),
    makeDirectory: (path) => disk.makeDirectory(path),
    statSync: (path) => disk.statSync(path),
    remove: (path) => disk.remove(path),
    rename: (from, to) => disk.rename(from, to),
    watch: (path, hint) => disk.watch(path, hint),
  }
}
