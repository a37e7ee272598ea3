/** `completion`: scripts that complete commands, options and their values, made from the command table. */
import { type CommandSpec, GLOBAL_OPTIONS, type OptionSpec } from './command-spec.ts'
import type { Context } from './context.ts'

type Commands = readonly CommandSpec[]

/** The command, given the table that it is in itself. */
export function completionOf(commands: Commands) {
  return async ({ out }: Context, [shell]: ['bash' | 'zsh' | 'fish']): Promise<void> => {
    const script = { bash, zsh, fish }[shell]
    await out.text(script(commands))
  }
}

function nameOf({ flags }: OptionSpec): string {
  return flags.split(' ')[0] as string
}

function takesValue({ flags }: OptionSpec): boolean {
  return flags.includes('<')
}

function optionsOf({ options = [] }: CommandSpec): readonly OptionSpec[] {
  return [...options, ...GLOBAL_OPTIONS, { flags: '--help', about: 'print the help' }]
}

function choicesOf({ words }: CommandSpec): readonly string[] {
  return words.flatMap(({ choices = [] }) => choices)
}

/** Everything of these scripts is our own text; quoted all the same, so that no description can break one. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function bash(commands: Commands): string {
  const names = commands.map(({ name }) => name).join(' ')
  const valued = [...new Set([...commands.flatMap(({ options = [] }) => options), ...GLOBAL_OPTIONS].filter(takesValue).map(nameOf))]
  const cases = commands.map((spec) => {
    const words = optionsOf(spec).map(nameOf).join(' ')
    const values = optionsOf(spec).flatMap((option) => {
      if (option.choices !== undefined) return [`      ${nameOf(option)}) words=${quoted(option.choices.join(' '))} ;;`]
      return takesValue(option) && option.file !== true ? [`      ${nameOf(option)}) return ;;`] : []
    })
    const files = optionsOf(spec).filter(({ file }) => file === true)
    const file = files.length === 0 ? [] : [`      ${files.map(nameOf).join('|')}) COMPREPLY=($(compgen -f -- "$word")); return ;;`]
    const plain = [...choicesOf(spec)].join(' ')
    return [
      `  ${spec.name})`,
      '    case "$before" in',
      ...values,
      ...file,
      `      *) words=${quoted(`${words}${plain === '' ? '' : ` ${plain}`}`)} ;;`,
      '    esac ;;',
    ].join('\n')
  })
  return `# bash completion of holdfast: eval "$(holdfast completion bash)"
_holdfast() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      ${valued.join('|')}) ((i++)) ;;
      -*) ;;
      *) command=\${COMP_WORDS[i]}; break ;;
    esac
  done
  case "$command" in
  '')
    case "$before" in
      --store) COMPREPLY=($(compgen -f -- "$word")); return ;;
      --space) return ;;
      *) words=${quoted(`${names} help ${GLOBAL_OPTIONS.map(nameOf).join(' ')} --help --version`)} ;;
    esac ;;
  help) words=${quoted(names)} ;;
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _holdfast holdfast
`
}

function zsh(commands: Commands): string {
  const described = (text: string): string => text.replaceAll('[', '(').replaceAll(']', ')').replaceAll(':', ',')
  const specOf = (option: OptionSpec): string => {
    const value = option.choices !== undefined ? `:value:(${option.choices.join(' ')})` : option.file === true ? ':file:_files' : ':value: '
    return quoted(`*${nameOf(option)}[${described(option.about)}]${takesValue(option) ? value : ''}`)
  }
  const cases = commands.map((spec) => {
    const words = spec.words.map(({ word, choices }) => {
      const name = word.replaceAll(/[<>[\].]/g, '')
      return quoted(`${word.includes('...') ? '*' : ''}:${name}:${choices === undefined ? ' ' : `(${choices.join(' ')})`}`)
    })
    return `    ${spec.name}) _arguments -s ${[...optionsOf(spec).map(specOf), ...words].join(' ')} ;;`
  })
  return `#compdef holdfast
# zsh completion of holdfast: holdfast completion zsh > "\${fpath[1]}/_holdfast"
_holdfast() {
  local state line
  local -a commands
  commands=(
${commands.map(({ name, about }) => `    ${quoted(`${name}:${described(about)}`)}`).join('\n')}
  )
  _arguments -C ${GLOBAL_OPTIONS.map(specOf).join(' ')} '1:command:->command' '*::argument:->argument'
  case $state in
  command) _describe command commands ;;
  argument)
    case $line[1] in
${cases.join('\n')}
    esac ;;
  esac
}
if [ "$funcstack[1]" = "_holdfast" ]; then _holdfast "$@"; else compdef _holdfast holdfast; fi
`
}

function fish(commands: Commands): string {
  const option = (condition: string, spec: OptionSpec): string => {
    const value =
      spec.choices !== undefined
        ? ` -x -a ${quoted(spec.choices.join(' '))}`
        : spec.file === true
          ? ' -r -F'
          : takesValue(spec)
            ? ' -x'
            : ''
    return `complete -c holdfast${condition} -l ${nameOf(spec).slice(2)}${value} -d ${fishQuoted(spec.about)}`
  }
  const names = commands.map(({ name }) => name).join(' ')
  const lines = commands.flatMap((spec) => {
    const inside = ` -n ${fishQuoted(`__fish_seen_subcommand_from ${spec.name}`)}`
    const choices = choicesOf(spec).join(' ')
    return [
      `complete -c holdfast -n ${fishQuoted(`not __fish_seen_subcommand_from ${names}`)} -a ${spec.name} -d ${fishQuoted(spec.about)}`,
      ...(choices === '' ? [] : [`complete -c holdfast${inside} -a ${fishQuoted(choices)}`]),
      ...(spec.options ?? []).map((one) => option(inside, one)),
    ]
  })
  return `# fish completion of holdfast: holdfast completion fish > ~/.config/fish/completions/holdfast.fish
complete -c holdfast -f
${[...GLOBAL_OPTIONS.map((one) => option('', one)), ...lines].join('\n')}
`
}

/** Inside single quotes, fish knows two escapes. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
