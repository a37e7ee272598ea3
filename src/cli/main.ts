/**
 * The command line: finds the command, runs it, and ends with the exit code that CLI users rely on.
 *
 *   0 done   1 failed   2 wrong usage   3 not found   4 conflict   5 damage found   6 no space   130 interrupted
 *
 * SIGINT and SIGTERM stop a command at its next step: what it accepted is flushed to the disk first, and what it acknowledged is there
 * already. A second signal does not wait.
 */
import { createRequire } from 'node:module'
import { CommanderError } from 'commander'
import { wrongUsage } from './arguments.ts'
import type { CommandSpec } from './command-spec.ts'
import { Context } from './context.ts'
import { Output } from './output.ts'
import { makeProgram } from './program.ts'
import { inBlock } from './terminal.ts'

const INTERRUPTED = 130

const words = process.argv.slice(2)
/** Before the parser is done, only these tell in which way to complain. Behind `--` there are no options. */
const flags = words.slice(0, words.includes('--') ? words.indexOf('--') : undefined)
const wantsJson = flags.includes('--json')
/** Asked by the package's own name, because this file lies at different depths in dist and in the tests' build. */
const version = flags.includes('--version') ? (createRequire(import.meta.url)('holdfast/package.json') as { version: string }).version : ''
const stop = new AbortController()
const out = new Output({ json: wantsJson, quiet: flags.includes('--quiet'), onGone: () => stop.abort() })
let interrupted = false

function interrupt(): void {
  if (interrupted) process.exit(INTERRUPTED)
  interrupted = true
  stop.abort()
}

async function start(spec: CommandSpec, args: readonly unknown[], options: Readonly<Record<string, unknown>>): Promise<void> {
  const context = new Context(out, stop.signal, options)
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', interrupt)
  // A command that waits for the store, and not for its signal, is ended by closing the store under it.
  stop.signal.addEventListener('abort', () => void context.close().catch(() => undefined))
  try {
    const run = await spec.load()
    await run(context, args as never, options as never)
  } catch (error) {
    throw context.explained(error)
  } finally {
    await context.close()
  }
}

async function main(): Promise<number> {
  let complaint = ''
  const complain = (text: string): void => {
    complaint += text
  }
  const program = makeProgram({ words, version, start, complain })
  try {
    if (words.length === 0) program.outputHelp()
    else await program.parseAsync(words, { from: 'user' })
    return process.exitCode === undefined ? 0 : Number(process.exitCode)
  } catch (error) {
    if (!isOfParser(error)) return interrupted || out.gone ? 0 : out.fail(error)
    if (error.exitCode === 0) return 0
    const mistake = wrongUsage(error.message.replace(/^error: /, ''))
    if (wantsJson) return out.fail(mistake)
    process.stderr.write(inBlock(complaint))
    return mistake.exitCode
  }
}

/** Commander's errors: it also throws when it has printed what was asked for. */
function isOfParser(error: unknown): error is CommanderError {
  return error instanceof CommanderError
}

// Not awaited at the top: a bundle of CommonJS, which starts faster, has no such thing.
void main().then(async (code) => {
  await out.flush()
  process.exit(interrupted ? INTERRUPTED : code)
})
