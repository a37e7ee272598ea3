/**
 * Failing system calls, one by one, with strace. A first run is only counted: which calls does a program make on the files of its
 * store? Then the same program runs once for each of them, and that call fails. Calls on other files are left alone, so that neither
 * Node's own machinery nor the log of the program is hit.
 *
 * strace counts the calls of each thread by itself. With a pool of one thread there are two, and `when` is the number of a call in both:
 * where both make such calls on one file, two of them fail.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Child, type Ended } from './children.ts'
import type { ScenarioOptions } from './scenario/main.ts'

const TRACED = 'write,pread64,fdatasync,fsync,openat,close,mkdirat,mkdir,unlinkat,unlink,renameat,renameat2,rename,statx,getdents64'

/** A call that can fail: the `when`-th of its kind on one file, in one of the threads. */
export interface Call {
  readonly syscall: string
  /** Below the store; empty for the store itself. Undefined for any file. */
  readonly path: string | undefined
  readonly when: number
}

export interface Fault extends Call {
  /** What strace shall do: `error=EIO`, `retval=10`, `signal=KILL`. */
  readonly how: string
  /** All calls from there on, not just one. */
  readonly forever: boolean
}

export interface Traced {
  readonly ended: Ended
  /** How many calls were tampered with. */
  readonly hits: number
}

/** Runs the scenario with nothing failing, and tells which calls it made. */
export async function countCalls(options: ScenarioOptions, output: string): Promise<Call[]> {
  const { code, complaint } = await start(options, output, ['-y', '-s', '0', '-e', `trace=${TRACED}`]).ended
  if (code !== 0) throw new Error(`The run that counts calls ended with ${code}: ${complaint}`)
  const calls = new Map<string, Call>()
  const seen = new Map<string, number>()
  for (const line of readFileSync(output, 'utf8').split('\n')) {
    const [, thread, syscall, words] = /^(\d+) +(\w+)\((.*)/.exec(line) ?? []
    const path = pathIn(options.directory, words ?? '')
    if (syscall === undefined || path === undefined) continue
    const when = (seen.get(`${thread} ${syscall} ${path}`) ?? 0) + 1
    seen.set(`${thread} ${syscall} ${path}`, when)
    calls.set(`${syscall} ${path} ${when}`, { syscall, path, when })
  }
  return [...calls.values()]
}

export async function runWith(fault: Fault, options: ScenarioOptions, output: string, patienceMs: number): Promise<Traced> {
  const { syscall, path, how, when, forever } = fault
  const inject = `inject=${syscall}:${how}:when=${when}${forever ? '+' : ''}`
  // With a filter in the kernel only the calls that matter stop the program, but a signal would not be delivered.
  const quick = how.startsWith('signal') ? [] : ['--seccomp-bpf']
  const only = path === undefined ? [] : ['-P', join(options.directory, path)]
  const child = start(options, output, [...quick, ...only, '-e', `trace=${syscall}`, '-e', inject])
  const patience = setTimeout(() => child.signal('SIGKILL'), patienceMs)
  const ended = await child.ended
  clearTimeout(patience)
  return { ended, hits: readFileSync(output, 'utf8').match(/\(INJECTED\)|killed by SIGKILL/g)?.length ?? 0 }
}

function start(options: ScenarioOptions, output: string, words: readonly string[]): Child {
  return new Child('scenario', options, {
    under: ['strace', '-f', '-o', output, ...words],
    env: { UV_THREADPOOL_SIZE: '1' },
  })
}

/** The first file of the store that a traced line names, as an open file or as a path. */
function pathIn(store: string, words: string): string | undefined {
  const [, open, named] = /\d+<(\/[^>]*)>|"(\/[^"]*)"/.exec(words.replace(/^AT_FDCWD<[^>]*>/, '')) ?? []
  const path = open ?? named
  if (path === store) return ''
  return path?.startsWith(`${store}/`) ? path.slice(store.length + 1) : undefined
}
