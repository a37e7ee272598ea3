// The bill of materials of a plain install, as CycloneDX: npm's own list, without what only developers need.
import { execFileSync } from 'node:child_process'
import { plainInstall } from './plain-install.mjs'

export function sbomOf(root) {
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only']
  const whole = JSON.parse(
    execFileSync('npm', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 28 }),
  )
  const installed = new Set(plainInstall(root).map(({ name, version }) => `${name}@${version}`))
  const components = whole.components.filter(({ name, version }) => installed.has(`${name}@${version}`))
  const refs = new Set([whole.metadata.component['bom-ref'], ...components.map((component) => component['bom-ref'])])
  const dependencies = whole.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) }))
  return { ...whole, components, dependencies }
}
