/** The command table as a parser. What it finds is handed to `start`. */
import { Argument, Command, Option } from 'commander'
import { type CommandSpec, GLOBAL_OPTIONS, type OptionSpec } from './command-spec.ts'
import { COMMANDS } from './commands.ts'

type Start = (spec: CommandSpec, words: readonly unknown[], options: Readonly<Record<string, unknown>>) => Promise<void>

export interface ProgramOptions {
  /** What stands on the command line. */
  readonly words: readonly string[]
  readonly version: string
  readonly start: Start
  /** Where the parser's complaints go. */
  readonly complain: (text: string) => void
}

export function makeProgram({ words, version, start, complain }: ProgramOptions): Command {
  const program = new Command('holdfast')
    .usage('<command> [options]')
    .description('Sessions for AI agents that cannot be lost, doubled or corrupted.')
    .version(version, '--version', 'print the version')
    .helpOption('--help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .showHelpAfterError('Run `holdfast --help` to see what there is.')
    .configureOutput({ writeErr: complain })
    .exitOverride()
  for (const spec of GLOBAL_OPTIONS) program.addOption(optionOf(spec))
  for (const spec of wanted(words)) addCommand(program, spec, start)
  return program
}

/** Only the command that is called, if there is one; all of them for the help, and to find what was meant by a word that is none. */
function wanted(words: readonly string[]): readonly CommandSpec[] {
  const valued = GLOBAL_OPTIONS.filter(({ flags }) => flags.includes('<')).map(({ flags }) => flags.split(' ')[0])
  const name = words.find((word, index) => !word.startsWith('-') && !valued.includes(words[index - 1]))
  const called = COMMANDS.filter((spec) => spec.name === name || spec.alias === name)
  return called.length === 1 ? called : COMMANDS
}

function addCommand(program: Command, spec: CommandSpec, start: Start): void {
  const command = program
    .command(spec.name)
    .description(spec.about)
    .helpOption('--help', 'print this help')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError(`Run \`holdfast ${spec.name} --help\` to see how it is used.`)
  if (spec.alias !== undefined) command.alias(spec.alias)
  if (spec.dashes === true) command.allowUnknownOption()
  for (const { word, about, choices, parse } of spec.words) {
    const argument = new Argument(word, about)
    if (parse !== undefined) argument.argParser(parse)
    command.addArgument(choices === undefined ? argument : argument.choices(choices))
  }
  for (const option of spec.options ?? []) command.addOption(optionOf(option))
  command.action(() => start(spec, command.processedArgs, command.optsWithGlobals()))
}

function optionOf(spec: OptionSpec): Option {
  const option = new Option(spec.flags, spec.about)
  if (spec.choices !== undefined) option.choices(spec.choices)
  if (spec.parse !== undefined) option.argParser(spec.parse as (value: string, before: unknown) => unknown)
  if (spec.default !== undefined) option.default(spec.parse === undefined ? spec.default : spec.parse(spec.default), spec.default)
  return option
}
