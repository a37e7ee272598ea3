/** File systems of a chosen size. They need root; tests ask requirePlatform('tmpfs') first. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Mount {
  readonly directory: string
  /** Whether it may be written from now on. No file may be open for writing. */
  remount(mode: 'ro' | 'rw'): void
  /** Unmounts it while programs have files open there: the directory is empty then. */
  leave(): void
  /** Mounts the same file system again. */
  comeBack(): void
  /** Unmounts, even if something still has files open there, and removes what is left. */
  dispose(): void
}

/** `names` bounds how many files and directories it holds, as a full disk does. */
export function mountTmpfs(megabytes: number, names = 10_000): Mount {
  return mount((directory) => run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,nr_inodes=${names}`, 'tmpfs', directory]))
}

/** A real disk file system, which counts blocks, keeps some for itself, and finds out late that it is full. */
export function mountExt4(megabytes: number): Mount {
  return mount((directory, parent) => {
    const image = join(parent, 'image')
    writeFileSync(image, '')
    truncateSync(image, megabytes * 1024 * 1024)
    run('mkfs.ext4', ['-q', '-m', '0', image])
    run('mount', ['-o', 'loop', image, directory])
  })
}

function mount(make: (directory: string, parent: string) => void): Mount {
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-mount-'))
  const directory = join(parent, 'mount')
  mkdirSync(directory)
  make(directory, parent)
  // A second name keeps the file system alive while the first one is unmounted.
  const kept = join(parent, 'kept')
  const leave = (): void => run('umount', ['--lazy', directory])
  let isThere = true
  return {
    directory,
    remount: (mode) => run('mount', ['-o', `remount,${mode}`, directory]),
    leave: () => {
      mkdirSync(kept, { recursive: true })
      run('mount', ['--bind', directory, kept])
      leave()
      isThere = false
    },
    comeBack: () => {
      run('mount', ['--bind', kept, directory])
      run('umount', ['--lazy', kept])
      isThere = true
    },
    dispose: () => {
      if (isThere) leave()
      else run('umount', ['--lazy', kept])
      rmSync(parent, { recursive: true, force: true })
    },
  }
}

/** Whether a directory can be mounted at another path. */
export function isMountAllowed(): boolean {
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-mount-'))
  try {
    mountDirectory(parent, parent).dispose()
    return true
  } catch {
    return false
  } finally {
    rmSync(parent, { recursive: true, force: true })
  }
}

/** Mounts a directory at another path. There, `leave` shows the empty directory below it. */
export function mountDirectory(content: string, path: string): Pick<Mount, 'leave' | 'comeBack' | 'dispose'> {
  let isThere = false
  const comeBack = (): void => {
    run('mount', ['--bind', content, path])
    isThere = true
  }
  const leave = (): void => {
    run('umount', ['--lazy', path])
    isThere = false
  }
  comeBack()
  return { leave, comeBack, dispose: () => (isThere ? leave() : undefined) }
}

function run(program: string, words: readonly string[]): void {
  const { error, status, stderr } = spawnSync(program, words, { encoding: 'utf8' })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${program} ${words.join(' ')} ended with ${status}: ${stderr}`)
}
