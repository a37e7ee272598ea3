/** Where and when something was measured: a figure without it means nothing. */
import { execFileSync } from 'node:child_process'
import { availableParallelism, cpus, loadavg, platform, release } from 'node:os'
import { nodeDisk } from '../src/engines/files/node-disk.ts'

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly system: string
  readonly node: string
  readonly fileSystem: string
  readonly date: string
  /** Of the last minute, before anything was measured: other work on the machine shows here. */
  readonly load: number
}

export async function describeMachine(directory: string): Promise<Machine> {
  return {
    cpu: `${cpuModel()}, ${process.arch}`,
    cores: availableParallelism(),
    system: `${platform()} ${release()}`,
    node: process.version,
    fileSystem: (await nodeDisk.fileSystem(directory))?.type ?? 'unknown',
    date: new Date().toISOString().slice(0, 10),
    load: loadavg()[0] ?? 0,
  }
}

/** Node does not know the model on arm64, but Linux has a program that does. */
function cpuModel(): string {
  const model = cpus()[0]?.model ?? 'unknown'
  if (model !== 'unknown') return model
  try {
    const listed = execFileSync('lscpu', { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    return /^Model name:\s*(.+)$/m.exec(listed)?.[1] ?? model
  } catch {
    return model
  }
}
