// What `npm install holdfast` brings, told from the lock file: everything that the dependencies of the package lead to. npm's own marks do not
// tell, because what is needed by a tool of the developers too is marked as theirs.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export function plainInstall(root) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const found = new Map()
  const follow = (from) => {
    const { dependencies = {}, optionalDependencies = {} } = packages[from]
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const path = placeOf(packages, from, name)
      if (path === undefined || found.has(path)) continue
      found.set(path, { name, version: packages[path].version, hasInstallScript: packages[path].hasInstallScript === true })
      follow(path)
    }
  }
  follow('')
  return [...found.values()]
}

/** Where a package finds another one: beside its own, or further up. */
function placeOf(packages, from, name) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const path = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`
    if (packages[path] !== undefined) return path
    if (at === '') return undefined
  }
}
