/**
 * Two bundles.
 *
 * dist/adapters/mcp/sdk.js, in its own place: what is needed of the Model Context Protocol's package, with all that it needs but zod, so that
 * nobody has to install it. The licences of what is inside lie beside it.
 *
 * dist/cli -> dist/cli/bundle: the command line in a few files. Node spends more time finding and linking a hundred small modules than
 * on all that `holdfast append` does. Other packages stay outside, but for the two that every command needs.
 */
import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const out = join(root, 'dist', 'cli', 'bundle')
const INSIDE = ['commander', 'picocolors']

/** Commander can start other programs as commands, which none of ours is; loading what that needs takes milliseconds. */
const noPrograms = {
  name: 'no-programs',
  resolveId: (id, importer) => (id === 'node:child_process' && importer?.includes('commander') ? '\0no-programs' : undefined),
  load: (id) => (id === '\0no-programs' ? 'export const spawn = undefined' : undefined),
}

/** Plain ASCII: V8 keeps and reads such a source in half the bytes. */
const ascii = {
  name: 'ascii',
  generateBundle: (_, files) => {
    for (const file of Object.values(files)) {
      if (file.type !== 'chunk') continue
      file.code = file.code.replace(/[^\0-\x7f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
    }
  },
}

/** What opening a store loads, beyond what is loaded before: almost every command needs all of it, so it comes in one piece. */
let store
function ofStore(modules) {
  if (store !== undefined) return store
  const reachedFrom = (name) => {
    const reached = new Set()
    const visit = (id) => {
      if (reached.has(id)) return
      reached.add(id)
      modules.getModuleInfo(id)?.importedIds.forEach(visit)
    }
    visit(join(root, 'dist', name))
    return reached
  }
  const main = reachedFrom('cli/main.js')
  store = new Set([...reachedFrom('store/open-store.js')].filter((id) => !main.has(id)))
  return store
}

await bundleProtocol()

const bundle = await rolldown({
  // Threads are programs of their own.
  input: {
    main: join(root, 'dist', 'cli', 'main.js'),
    thread: join(root, 'dist', 'catalog', 'thread.js'),
    'reader-thread': join(root, 'dist', 'transfer', 'import', 'reader-thread.js'),
  },
  platform: 'node',
  // The session imports erasing lazily because the two need each other, not to have it in another file.
  checks: { ineffectiveDynamicImport: false },
  plugins: [noPrograms, ascii],
  external: (id, importer) =>
    !(id === 'node:child_process' && importer?.includes('commander')) &&
    !id.startsWith('\0') &&
    !id.startsWith('.') &&
    !id.startsWith('/') &&
    !/^[A-Z]:/.test(id) &&
    !INSIDE.includes(id),
})
await bundle.write({
  dir: out,
  format: 'cjs',
  minify: { compress: true, mangle: { keepNames: true, toplevel: true }, codegen: { removeWhitespace: true } },
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name].cjs',
  codeSplitting: { groups: [{ name: (id, modules) => (ofStore(modules).has(id) ? 'store' : null), debugName: 'store' }] },
})
await bundle.close()

mkdirSync(out, { recursive: true })
for (const name of INSIDE) copyFileSync(join(root, 'node_modules', name, 'LICENSE'), join(out, `LICENSE.${name}`))

async function bundleProtocol() {
  const place = join(root, 'dist', 'adapters', 'mcp')
  const sdk = await rolldown({
    input: join(place, 'sdk.js'),
    platform: 'node',
    plugins: [ascii],
    external: (id) => id.startsWith('node:') || /^zod(?:\/|$)/.test(id),
  })
  const { output } = await sdk.write({ file: join(place, 'sdk.js'), format: 'esm', minify: true })
  await sdk.close()
  mkdirSync(join(place, 'licenses'), { recursive: true })
  const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
  for (const name of new Set(modules.flatMap((id) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(id)?.[1] ?? []))) {
    const file = ['LICENSE', 'LICENSE.md', 'license'].map((one) => join(root, 'node_modules', name, one)).find(existsSync)
    if (file === undefined) throw new Error(`${name} is bundled, and its licence was not found`)
    copyFileSync(file, join(place, 'licenses', `LICENSE.${name.replace('/', '-')}`))
  }
}
