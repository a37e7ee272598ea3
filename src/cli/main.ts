#!/usr/bin/env node
/**
 * The command line: reads arguments and picks a command. Standard output belongs to what was asked for; messages for people go to
 * standard error. Every mistake in the arguments ends with exit code 2, which Commander would report as 1.
 */
import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import pc from 'picocolors'

const WRONG_USAGE = 2

/** Asked by the package's own name, because this file lies at different depths in dist and in the tests' build. */
const { version } = createRequire(import.meta.url)('holdfast/package.json') as { version: string }

const program = new Command('holdfast')
  .usage('<command> [options]')
  .description('Sessions for AI agents that cannot be lost, doubled or corrupted.')
  .version(version, '--version', 'print the version')
  .helpOption('--help', 'print this help')
  .helpCommand('help [command]', 'print the help of a command')
  .configureHelp({ styleTitle: (title) => pc.bold(title) })
  .showHelpAfterError('Run "holdfast --help" to see what there is.')
  .exitOverride()

/** Without a single command Commander would complain of too many arguments. */
program.on('command:*', ([name]: string[]) => {
  program.error(`error: unknown command '${name}'`, { code: 'commander.unknownCommand' })
})

try {
  const words = process.argv.slice(2)
  if (words.length === 0) program.outputHelp()
  else await program.parseAsync(words, { from: 'user' })
} catch (error) {
  if (!(error instanceof CommanderError)) throw error
  process.exitCode = error.exitCode === 0 ? 0 : WRONG_USAGE
}
