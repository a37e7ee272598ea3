#!/usr/bin/env node
/**
 * Starts the bundled command line, with the code that V8 compiled the last time: that is a third of what a short command takes. Newer
 * versions of Node do this themselves; for the others the compiled code is kept in the user's own cache directory. Everything here may
 * fail, and then the files are simply compiled again.
 */
const fs = require('node:fs') as typeof import('node:fs')
const { join } = require('node:path') as typeof import('node:path')
const module_ = require('node:module') as typeof import('node:module') & { readonly enableCompileCache?: () => void }
const vm = require('node:vm') as typeof import('node:vm')

type Load = (name: string) => unknown
type Wrapped = (exports: object, require: Load, module: { exports: object }, filename: string, dirname: string) => void

const BUNDLE = join(__dirname, 'bundle')
const WRAPPER = ['(function (exports, require, module, __filename, __dirname) {', '\n})'] as const

if (module_.enableCompileCache !== undefined) {
  module_.enableCompileCache()
  require(join(BUNDLE, 'main.cjs'))
} else startCached()

function startCached(): void {
  const directory = cacheDirectory()
  const require_ = module_.createRequire(join(BUNDLE, 'main.cjs'))
  const loaded = new Map<string, { exports: object }>()
  const fresh = new Map<string, import('node:vm').Script>()
  const load: Load = (name) => {
    if (!name.startsWith('./')) return require_(name)
    const known = loaded.get(name)
    if (known !== undefined) return known.exports
    const module = { exports: {} }
    loaded.set(name, module)
    const filename = join(BUNDLE, name)
    const script = compiled(filename, join(directory, `${name.slice(2)}.v8`))
    if (script.cachedDataRejected !== false) fresh.set(join(directory, `${name.slice(2)}.v8`), script)
    const run = script.runInThisContext() as Wrapped
    run(module.exports, load, module, filename, BUNDLE)
    return module.exports
  }
  // Taken at the end: by then it also holds the functions that were compiled when they were first called.
  process.on('exit', () => keep(directory, fresh))
  load('./main.cjs')
}

function compiled(filename: string, cache: string): import('node:vm').Script {
  const source = WRAPPER[0] + fs.readFileSync(filename, 'utf8') + WRAPPER[1]
  let cachedData: Buffer | undefined
  try {
    cachedData = fs.readFileSync(cache)
  } catch {
    // The first time.
  }
  return new vm.Script(source, {
    filename,
    ...(cachedData === undefined ? {} : { cachedData }),
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
}

/** One for each installation, version of it and version of V8: V8 only looks at the length of a source to tell whether it changed. */
function cacheDirectory(): string {
  const home = process.env.XDG_CACHE_HOME ?? join((require('node:os') as typeof import('node:os')).homedir(), '.cache')
  const { mtimeMs, size } = fs.statSync(join(BUNDLE, 'main.cjs'))
  const id = Buffer.from(`${BUNDLE} ${mtimeMs} ${size} ${process.version} ${process.arch}`).toString('base64url')
  return join(home, 'holdfast', (require('node:crypto') as typeof import('node:crypto')).hash('sha256', id).slice(0, 16))
}

function keep(directory: string, scripts: ReadonlyMap<string, import('node:vm').Script>): void {
  try {
    if (scripts.size > 0) fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
    for (const [path, script] of scripts) {
      // Beside, then renamed: another process may be reading it.
      fs.writeFileSync(`${path}.${process.pid}`, script.createCachedData(), { mode: 0o600 })
      fs.renameSync(`${path}.${process.pid}`, path)
    }
  } catch {
    // No room, no rights: it is compiled again the next time.
  }
}
