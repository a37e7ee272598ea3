#!/usr/bin/env node
/**
 * Starts the bundled command line, with the code that V8 compiled the last times: that is a third of what a short command takes. Newer
 * versions of Node do this themselves; for the others the compiled code is kept in the user's own cache directory, a file for each
 * command. Everything here may fail, and then the files are simply compiled again.
 */
const fs = require('node:fs') as typeof import('node:fs')
const { join } = require('node:path') as typeof import('node:path')
const module_ = require('node:module') as typeof import('node:module') & { readonly enableCompileCache?: () => void }
const vm = require('node:vm') as typeof import('node:vm')

type Load = (name: string) => unknown
type Script = import('node:vm').Script
type Wrapped = (exports: object, require: Load, module: { exports: object }, filename: string, dirname: string) => void

/** Compiled code of the files of a command. What a first run did not call is compiled in a later one, so that the first few add to it. */
interface Compiled {
  readonly runs: number
  readonly files: ReadonlyMap<string, Buffer>
}

const BUNDLE = join(__dirname, 'bundle')
const WRAPPER = ['(function (exports, require, module, __filename, __dirname) {', '\n})'] as const
const RUNS = 3

/** Loaded when they are first used: that takes as long as much of what a short command does, and not every one comes to use them. */
const LAZY: ReadonlyMap<string, object> = new Map(['node:crypto', 'node:fs/promises'].map((name) => [name, lazily(name)]))

function lazily(name: string): object {
  let loaded: object | undefined
  return new Proxy(
    {},
    {
      get: (_, field) => {
        loaded ??= require(name) as object
        return Reflect.get(loaded, field) as unknown
      },
    },
  )
}

if (module_.enableCompileCache !== undefined) {
  module_.enableCompileCache()
  require(join(BUNDLE, 'main.cjs'))
} else startCached()

function startCached(): void {
  const directory = cacheDirectory()
  const command = /^[a-z-]+$/.exec(process.argv[2] ?? '')?.[0] ?? '-'
  const cache = join(directory, `${command}.v8`)
  const kept = read(cache)
  const scripts = new Map<string, Script>()
  const loaded = new Map<string, { exports: object }>()
  let rejected = false
  const load: Load = (name) => {
    const lazy = LAZY.get(name)
    if (lazy !== undefined) return lazy
    if (!name.startsWith('./')) return require(name)
    const known = loaded.get(name)
    if (known !== undefined) return known.exports
    const module = { exports: {} }
    loaded.set(name, module)
    const filename = join(BUNDLE, name)
    const script = compiled(filename, kept.files.get(name))
    scripts.set(name, script)
    rejected ||= script.cachedDataRejected === true
    const run = script.runInThisContext() as Wrapped
    run(module.exports, load, module, filename, BUNDLE)
    return module.exports
  }
  // Taken at the end: by then it also holds the functions that were compiled when they were first called.
  process.on('exit', () => {
    if (rejected || kept.runs < RUNS) keep(cache, { runs: rejected ? 1 : kept.runs + 1, scripts })
  })
  load('./main.cjs')
}

function compiled(filename: string, cachedData: Buffer | undefined): Script {
  const source = WRAPPER[0] + fs.readFileSync(filename, 'latin1') + WRAPPER[1]
  return new vm.Script(source, {
    filename,
    ...(cachedData === undefined ? {} : { cachedData }),
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
}

/**
 * One directory for each installation, version of it and version of V8: V8 only looks at the length of a source to tell whether it changed.
 * The name need not be secret, only its own; a digest would cost more than all the rest here.
 */
function cacheDirectory(): string {
  const home = process.env.XDG_CACHE_HOME ?? join((require('node:os') as typeof import('node:os')).homedir(), '.cache')
  const { mtimeMs, size } = fs.statSync(join(BUNDLE, 'main.cjs'))
  // V8 takes no code that was compiled under other flags.
  const flags = `${process.execArgv.join(' ')} ${process.env.NODE_OPTIONS ?? ''}`
  const id = `${BUNDLE} ${mtimeMs} ${size} ${process.version} ${process.arch} ${flags}`
  return join(home, 'holdfast', `${checksum(Buffer.from(id))}-${checksum(Buffer.from([...id].reverse().join('')))}`)
}

function checksum(bytes: Buffer): string {
  return (require('node:zlib') as typeof import('node:zlib')).crc32(bytes).toString(16).padStart(8, '0')
}

/** A line that tells the checksum of the rest; a line with the number of runs, the files and their lengths; then their code. */
function read(cache: string): Compiled {
  const files = new Map<string, Buffer>()
  try {
    const bytes = fs.readFileSync(cache)
    const rest = bytes.subarray(9)
    // V8 does not look whether its code is whole.
    if (bytes.toString('latin1', 0, 8) !== checksum(rest)) return { runs: 0, files }
    const end = rest.indexOf('\n')
    const { runs, parts } = JSON.parse(rest.toString('utf8', 0, end)) as { runs: number; parts: [string, number][] }
    let start = end + 1
    for (const [name, length] of parts) {
      files.set(name, rest.subarray(start, start + length))
      start += length
    }
    return { runs, files }
  } catch {
    // The first time.
    return { runs: 0, files }
  }
}

function keep(cache: string, { runs, scripts }: { readonly runs: number; readonly scripts: ReadonlyMap<string, Script> }): void {
  try {
    const code = [...scripts].map(([name, script]) => [name, script.createCachedData()] as const)
    const head = JSON.stringify({ runs, parts: code.map(([name, { length }]) => [name, length]) })
    const rest = Buffer.concat([Buffer.from(`${head}\n`), ...code.map(([, bytes]) => bytes)])
    fs.mkdirSync(join(cache, '..'), { recursive: true, mode: 0o700 })
    // Beside, then renamed: another process may be reading it.
    fs.writeFileSync(`${cache}.${process.pid}`, Buffer.concat([Buffer.from(`${checksum(rest)}\n`), rest]), { mode: 0o600 })
    fs.renameSync(`${cache}.${process.pid}`, cache)
  } catch {
    // No room, no rights: it is compiled again the next time.
  }
}
