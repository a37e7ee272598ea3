/**
 * What some tests need of the machine beyond Node. A test that cannot run says so and is skipped, except where HOLDFAST_REQUIRE_ALL=1
 * (continuous integration): there it fails, so that no check can vanish unnoticed.
 *
 *   const strace = requirePlatform('strace')
 *   test.skipIf(!strace.available)('an append survives a failing fdatasync', …)
 */
import { spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type PlatformNeed = keyof typeof PROBES

export interface Platform {
  readonly available: boolean
  /** Why it is not available; empty if it is. */
  readonly reason: string
}

/** Each probe tries the thing itself and returns what went wrong: a program may be installed and yet be forbidden to work. */
const PROBES = {
  linux: () => (process.platform === 'linux' ? '' : `this is ${process.platform}`),
  /** `strace` that may trace and inject. */
  strace: () => failureOf('strace', ['-f', '-o', '/dev/null', '-e', 'inject=fdatasync:error=EIO:when=1', process.execPath, '--version']),
  /** A C compiler, for faults that are loaded into processes. */
  compiler: () => failureOf('cc', ['--version']),
  /** A terminal that a program can be run in. */
  terminal: () => failureOf('script', ['--quiet', '--return', '--command', 'true', '/dev/null']),
  /** A browser that can be driven. */
  chromium: () => (browserPath() === undefined ? 'there is no Chromium' : ''),
  /** A tmpfs of a chosen size can be mounted, hence a disk that is really full. */
  tmpfs: () => probeMount((directory) => failureOf('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', directory])),
  /** A network of one's own can be made, hence a link that is cut and tells nobody. */
  netns: () => {
    const name = `hfprobe${process.pid}`
    const failure = failureOf('ip', ['netns', 'add', name]) || failureOf('ip', ['netns', 'exec', name, 'setpriv', '--version'])
    failureOf('ip', ['netns', 'del', name])
    return failure
  },
  /** The same with a disk file system in an image file, which a loop device makes a disk. */
  ext4: () =>
    probeMount(
      (directory, image) =>
        failureOf('truncate', ['--size=1M', image]) ||
        failureOf('mkfs.ext4', ['-q', image]) ||
        failureOf('mount', ['-o', 'loop', image, directory]),
    ),
} as const

/** What brings it, on Debian and as root. */
const REMEDIES: Readonly<Record<PlatformNeed, string>> = {
  linux: 'run them on Linux',
  strace: 'apt-get install strace, and allow ptrace',
  compiler: 'apt-get install gcc libc6-dev',
  terminal: 'apt-get install bsdutils',
  chromium: 'apt-get install chromium, or name a browser in HOLDFAST_CHROMIUM',
  tmpfs: 'run them as root, outside a container or in a privileged one',
  netns: 'apt-get install iproute2, and run them as root',
  ext4: 'apt-get install e2fsprogs, and run them as root where there are loop devices',
}

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/usr/bin/google-chrome-stable']

/** Where the browser is, if there is one. */
export function browserPath(): string | undefined {
  return [process.env.HOLDFAST_CHROMIUM, ...BROWSERS].find((path) => path !== undefined && existsSync(path))
}

export function requirePlatform(need: PlatformNeed): Platform {
  const reason = PROBES[need]()
  if (reason === '') return { available: true, reason }
  const message = `${need} is not available: ${reason}`
  if (process.env.HOLDFAST_REQUIRE_ALL === '1') throw new Error(`${message} (HOLDFAST_REQUIRE_ALL=1 forbids to skip)`)
  process.stderr.write(`skipping: ${message}\n`)
  // scripts/test.mjs tells at the end.
  const missing = process.env.HOLDFAST_TEST_MISSING
  if (missing !== undefined) appendFileSync(missing, `${message}\n  To run what needs it: ${REMEDIES[need]}.\n`)
  return { available: false, reason }
}

function failureOf(program: string, words: readonly string[]): string {
  const { error, status, stderr } = spawnSync(program, words, { encoding: 'utf8', timeout: 60_000 })
  if (error !== undefined) return error.message
  return status === 0 ? '' : `${program} ended with ${status}: ${stderr.trim()}`
}

function probeMount(mount: (directory: string, image: string) => string): string {
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-mount-'))
  const directory = join(parent, 'mount')
  mkdirSync(directory)
  try {
    return mount(directory, join(parent, 'image')) || failureOf('umount', [directory])
  } finally {
    rmSync(parent, { recursive: true })
  }
}
