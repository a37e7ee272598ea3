// What a release has to pass, and what goes with it: `npm run release`. Nothing is published here.
//   1. No known weakness in what a plain install brings (npm audit).
//   2. Everything is built.
//   3. A list of everything that a plain install brings, as CycloneDX, in build/release/sbom.json.
//   4. The package itself, in build/release/.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sbomOf } from './sbom.mjs'

const ROOT = join(import.meta.dirname, '..')
const OUT = join(ROOT, 'build/release')

function npm(args, options = {}) {
  return execFileSync('npm', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8', ...options })
}

mkdirSync(OUT, { recursive: true })
npm(['audit', '--omit=dev', '--audit-level=low'], { stdio: 'inherit' })
npm(['run', 'build'], { stdio: 'inherit' })
writeFileSync(join(OUT, 'sbom.json'), `${JSON.stringify(sbomOf(ROOT), null, 2)}\n`)
const [{ filename }] = JSON.parse(npm(['pack', '--json', '--pack-destination', OUT]))
console.log(`build/release/${filename} and build/release/sbom.json are ready.`)
