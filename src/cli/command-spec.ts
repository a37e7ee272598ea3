/** How the command table is written: what a command is called, what it takes, and where its code is. */
import type { Context } from './context.ts'

/** The words and the options are what the table says of them; each command names their types itself. */
type Run = (context: Context, words: never, options: never) => Promise<void>

export interface OptionSpec {
  readonly flags: string
  readonly about: string
  readonly parse?: (value: string, before?: never) => unknown
  readonly choices?: readonly string[]
  readonly default?: string
  /** The value is a file. */
  readonly file?: boolean
}

interface WordSpec {
  readonly word: string
  readonly about: string
  readonly choices?: readonly string[]
  readonly parse?: (value: string) => unknown
}

export interface CommandSpec {
  readonly name: string
  /** A former name, which still works. */
  readonly alias?: string
  readonly about: string
  /** As the help shows them: `<needed>`, `[optional]`, `<several...>`. */
  readonly words: readonly WordSpec[]
  readonly options?: readonly OptionSpec[]
  /** Words may begin with a dash. */
  readonly dashes?: boolean
  readonly load: () => Promise<Run>
}

export const GLOBAL_OPTIONS: readonly OptionSpec[] = [
  {
    flags: '--store <where>',
    about: 'directory of the store, or postgres://…, or http://… of a server with $HOLDFAST_KEY (else $HOLDFAST_STORE, else ~/.holdfast)',
    file: true,
  },
  { flags: '--space <name>', about: 'space whose sessions to use' },
  {
    flags: '--master-key-file <file>',
    about: 'master key of an encrypted store (else $HOLDFAST_MASTER_KEY_FILE, or the key itself in $HOLDFAST_MASTER_KEY)',
    file: true,
  },
  { flags: '--json', about: 'print one JSON object a line' },
  { flags: '--quiet', about: 'no notes and no progress' },
]
