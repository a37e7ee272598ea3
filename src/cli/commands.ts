/**
 * The command table: what there is, in the order in which the help shows it. The help, the parser and the completion scripts are all made
 * from it. The code of a command is loaded when it runs, so that none pays for another.
 */
import { archive, collect, count, duration, moment, workspace } from './arguments.ts'
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
  { flags: '--json', about: 'print one JSON object a line' },
  { flags: '--quiet', about: 'no notes and no progress' },
]

const ID = { word: '<id>', about: 'id of the session' }
const DESCRIBING: readonly OptionSpec[] = [
  { flags: '--owner <owner>', about: 'whose it is' },
  { flags: '--workspace <workspace>', about: 'the project that it belongs to; . is this directory', parse: workspace },
]

export const COMMANDS: readonly CommandSpec[] = [
  {
    name: 'serve',
    about: 'serve the store over HTTP, with the commit worker inside, until interrupted; prints the ready link',
    words: [],
    options: [
      { flags: '--host <address>', about: 'address to listen on; other than loopback needs keys', default: '127.0.0.1' },
      { flags: '--port <n>', about: 'port to listen on; 0 for any that is free', parse: count('--port'), default: '7717' },
      { flags: '--no-auth', about: 'no keys: whoever reaches the address may do everything; on loopback only' },
      { flags: '--no-worker', about: 'summaries are made elsewhere: `holdfast work`' },
      { flags: '--redact', about: 'take keys and passwords of known forms out of what is said before it is written' },
      { flags: '--no-migrate', about: 'leave the tables of a store in PostgreSQL as they are: `holdfast migrate`' },
      { flags: '--allow-host <name>', about: 'a name by which it may be called; may be repeated', parse: collect },
      { flags: '--mcp-write', about: 'agents at /mcp may also append, fork and commit, if their key may write' },
      { flags: '--allow-origin <origin>', about: 'pages that may use it, as https://name; may be repeated', parse: collect },
    ],
    load: async () => (await import('./serve.ts')).serve,
  },
  {
    name: 'new',
    about: 'create a session',
    words: [{ word: '[id]', about: 'its id; made if it is not given' }],
    options: [
      { flags: '--title <text>', about: 'its title' },
      { flags: '--tag <tag>', about: 'a tag; may be repeated', parse: collect },
      ...DESCRIBING,
      { flags: '--parent <id>', about: 'the session that this one is a child of' },
    ],
    load: async () => (await import('./new.ts')).create,
  },
  {
    name: 'append',
    about: 'append a message, or a stream of them; creates the session on first use',
    words: [ID, { word: '[text]', about: 'the content; else standard input, if it is piped' }],
    options: [
      { flags: '--role <role>', about: 'who says it', default: 'user' },
      { flags: '--message-id <id>', about: 'id of the message: sent again, it is there once' },
      { flags: '--key <key>', about: 'key of this operation: tried again, it happens once' },
      { flags: '--expect <version>', about: 'only if the session still has this version' },
      { flags: '--jsonl <file>', about: 'messages, one a line, from a file or - for standard input', file: true },
    ],
    load: async () => (await import('./append.ts')).append,
  },
  {
    name: 'show',
    about: 'print the messages of a session, oldest first',
    words: [ID],
    options: [
      { flags: '--limit <n>', about: 'only the newest ones', parse: count('--limit') },
      { flags: '--before <id>', about: 'only those before this message' },
      { flags: '--archived', about: 'also those that archives hold' },
      { flags: '--follow', about: 'go on with what is appended from now on, by whichever process' },
    ],
    load: async () => (await import('./show.ts')).show,
  },
  {
    name: 'list',
    about: 'list sessions, those changed last first',
    words: [],
    options: [
      { flags: '--query <words>', about: 'words that the id, the title or a tag must have' },
      { flags: '--tag <tag>', about: 'only those with this tag' },
      { flags: '--owner <owner>', about: 'only those of this owner' },
      { flags: '--workspace <workspace>', about: 'only those of this project; . is this directory', parse: workspace },
      { flags: '--parent <id>', about: 'only forks and children of this session' },
      { flags: '--deleted', about: 'those that were deleted, instead of those that were not' },
      { flags: '--limit <n>', about: 'how many at most', parse: count('--limit') },
      { flags: '--cursor <cursor>', about: 'go on where the page before ended' },
      { flags: '--order <order>', about: 'what to sort by', choices: ['updated', 'created', 'title'] },
    ],
    load: async () => (await import('./list.ts')).list,
  },
  {
    name: 'search',
    about: 'search messages, titles, summaries and memories',
    words: [{ word: '<words...>', about: 'all must be there, in any form; "in a row"; or the beginning* of one' }],
    options: [
      { flags: '--session <id>', about: 'only in this session' },
      { flags: '--role <role>', about: 'only messages of this role', choices: ['system', 'user', 'assistant', 'tool'] },
      {
        flags: '--from <when>',
        about: 'only what was written then or later: a date, or how long ago, such as 7d',
        parse: moment('--from'),
      },
      { flags: '--to <when>', about: 'only what was written before', parse: moment('--to') },
      { flags: '--limit <n>', about: 'how many at most; 20 unless told', parse: count('--limit') },
    ],
    load: async () => (await import('./search.ts')).search,
  },
  {
    name: 'title',
    about: 'give a session a title',
    words: [ID, { word: '<text>', about: 'the title; empty to take it away' }],
    load: async () => (await import('./describe.ts')).title,
  },
  {
    name: 'tag',
    about: 'add tags with +tag, remove them with -tag',
    words: [ID, { word: '<changes...>', about: '+tag or -tag' }],
    dashes: true,
    load: async () => (await import('./describe.ts')).tag,
  },
  {
    name: 'snapshot',
    about: 'name the present state, to return to it',
    words: [ID, { word: '<name>', about: 'name of the snapshot' }],
    load: async () => (await import('./branch.ts')).snapshot,
  },
  {
    name: 'revert',
    about: 'go back to a snapshot or a message; destroys nothing',
    words: [ID, { word: '<target>', about: 'a snapshot, or the id of a message' }],
    load: async () => (await import('./branch.ts')).revert,
  },
  {
    name: 'undo',
    about: 'take back the last revert',
    words: [ID],
    load: async () => (await import('./branch.ts')).undo,
  },
  {
    name: 'fork',
    about: 'begin a session with the messages of another one',
    words: [ID],
    options: [
      { flags: '--at <id>', about: 'the message that the fork ends with; else the last one' },
      { flags: '--as <id>', about: 'id of the new session' },
    ],
    load: async () => (await import('./family.ts')).fork,
  },
  {
    name: 'tree',
    about: 'show the forks and children of a session',
    words: [ID],
    load: async () => (await import('./family.ts')).tree,
  },
  {
    name: 'context',
    about: 'print what would be sent to a model, within a budget of tokens',
    words: [ID],
    options: [
      { flags: '--budget <n>', about: 'in tokens; 128000 unless told', parse: count('--budget') },
      {
        flags: '--format <format>',
        about: 'the shape of the messages; as they were appended unless told',
        choices: ['openai', 'openai-responses', 'anthropic', 'ai-sdk', 'text'],
      },
      { flags: '--recall <words>', about: 'add the memories and past messages that match' },
    ],
    load: async () => (await import('./window.ts')).window,
  },
  {
    name: 'commit',
    about: 'move what is live into an archive; a worker makes its summary',
    words: [ID],
    options: [
      { flags: '--keep <n>', about: 'keep so many messages live', parse: count('--keep') },
      { flags: '--keep-turns <n>', about: 'keep so many turns live instead', parse: count('--keep-turns') },
      { flags: '--token-budget <n>', about: 'with --keep-turns: as long as they fit into so many tokens', parse: count('--token-budget') },
      { flags: '--key <key>', about: 'key of this operation: tried again, it happens once' },
      { flags: '--wait', about: 'until the summary is there; made by this process if no worker takes it' },
    ],
    load: async () => (await import('./commit.ts')).commit,
  },
  {
    name: 'tasks',
    about: 'list the tasks of commits, the newest first; or begin many again with `tasks retry`',
    words: [{ word: '[id]', about: 'only of this session; or the word retry' }],
    options: [
      { flags: '--session <id>', about: 'only of this session' },
      { flags: '--status <status>', about: 'only those', choices: ['pending', 'running', 'completed', 'failed', 'cancelled'] },
      { flags: '--limit <n>', about: 'how many at most; 100 unless told', parse: count('--limit') },
      { flags: '--since <duration>', about: 'retry: only what ended in the last 6h or the like', parse: duration('--since') },
      { flags: '--rate <n>', about: 'retry: how many a second at most; 10 unless told', parse: count('--rate') },
    ],
    load: async () => (await import('./tasks.ts')).tasks,
  },
  {
    name: 'task',
    about: 'show a task, begin it again, or cancel it',
    words: [
      { word: '<task>', about: 'id of the task' },
      { word: '[action]', about: 'what to do with it', choices: ['retry', 'cancel'] },
    ],
    load: async () => (await import('./tasks.ts')).task,
  },
  {
    name: 'archives',
    about: 'list the archives of a session, or show one with its overview and messages',
    words: [ID, { word: '[number]', about: 'number of the archive, or its name, such as archive_001', parse: archive }],
    load: async () => (await import('./archives.ts')).archives,
  },
  {
    name: 'memories',
    about: 'list what is known of an owner, from all sessions',
    words: [{ word: '[words...]', about: 'only what matches, the best first' }],
    options: [{ flags: '--owner <owner>', about: 'of whom; of nobody in particular unless told' }],
    load: async () => (await import('./memories.ts')).memories,
  },
  {
    name: 'work',
    about: 'make the summaries that commits ask for, in every space, until interrupted',
    words: [],
    options: [
      { flags: '--concurrency <n>', about: 'how many tasks at once; 8 unless told', parse: count('--concurrency') },
      { flags: '--once', about: 'end when nothing is left to do' },
    ],
    load: async () => (await import('./work.ts')).work,
  },
  {
    name: 'usage',
    about: 'tokens that calls to models took, of a session or of all',
    words: [{ word: '[id]', about: 'id of the session' }],
    load: async () => (await import('./usage.ts')).usage,
  },
  {
    name: 'share',
    about: 'make a token that lets its holder read the session as it is now',
    words: [ID],
    options: [
      { flags: '--expires <duration>', about: 'how long it is good for, such as 7d', parse: duration('--expires') },
      { flags: '--redact', about: 'show no keys and passwords of known forms' },
    ],
    load: async () => (await import('./sharing.ts')).share,
  },
  {
    name: 'shares',
    about: 'list the shares of a session',
    words: [ID],
    load: async () => (await import('./sharing.ts')).shares,
  },
  {
    name: 'unshare',
    about: 'revoke a share',
    words: [ID, { word: '<share>', about: 'id of the share' }],
    load: async () => (await import('./sharing.ts')).unshare,
  },
  {
    name: 'keys',
    about: 'make, list or revoke the keys that servers of this store let in',
    words: [
      { word: '<action>', about: 'what to do', choices: ['create', 'list', 'revoke'] },
      { word: '[key]', about: 'id of the key to revoke' },
    ],
    options: [
      { flags: '--scope <scope>', about: 'what the key may; write unless told', choices: ['read', 'write', 'admin'] },
      { flags: '--owner <owner>', about: 'it sees and makes only sessions of this owner' },
      { flags: '--name <name>', about: 'what to call it' },
      { flags: '--expires <duration>', about: 'how long it is good for, such as 90d', parse: duration('--expires') },
      { flags: '--replaces <key>', about: 'takes the place of this key, which stays good for a day' },
    ],
    load: async () => (await import('./keys.ts')).keys,
  },
  {
    name: 'import',
    about: 'bring in the sessions of other programs; damaged files too, and safe to repeat',
    words: [{ word: '<paths...>', about: 'files, directories or home folders, which are never changed' }],
    options: [
      {
        flags: '--from <format>',
        about: 'what they are; told from their content unless named',
        choices: [
          'auto',
          'holdfast',
          'openviking',
          'nanobot',
          'praisonai',
          'claude-code',
          'codex',
          'pi',
          'gemini-cli',
          'opencode',
          'openai',
        ],
        default: 'auto',
      },
      { flags: '--dry-run', about: 'only tell what would be imported' },
      { flags: '--watch', about: 'go on with what is added to them, until interrupted' },
    ],
    load: async () => (await import('./import.ts')).bringIn,
  },
  {
    name: 'export',
    about: 'write sessions as text: all there is, to be imported again, or for people and other programs',
    words: [{ word: '[id]', about: 'id of the session' }],
    options: [
      { flags: '--all', about: 'every session of the space' },
      { flags: '--tree', about: 'also its forks and children, and theirs' },
      {
        flags: '--format <format>',
        about: 'what to write',
        choices: ['jsonl', 'markdown', 'html', 'openai', 'anthropic'],
        default: 'jsonl',
      },
      { flags: '--redact', about: 'take out keys and passwords of known forms' },
      { flags: '--out <file>', about: 'a file, put into place when it is whole; else standard output', file: true },
    ],
    load: async () => (await import('./export.ts')).bringOut,
  },
  {
    name: 'backup',
    about: 'copy what is new in the store to a backup, while it is in use',
    words: [{ word: '<directory>', about: 'the backup; made if need be, and only ever added to' }],
    load: async () => (await import('./backup.ts')).backup,
  },
  {
    name: 'restore-backup',
    about: 'make a store of a backup, at a place where nothing is',
    words: [{ word: '<directory>', about: 'the backup' }],
    load: async () => (await import('./backup.ts')).restore,
  },
  {
    name: 'copy',
    about: 'copy every session of one store to another, and verify it; may be interrupted and repeated',
    words: [
      { word: '<from>', about: 'the store to copy: a directory, or postgres://…' },
      { word: '<to>', about: 'the other one; made if need be' },
    ],
    load: async () => (await import('./copy.ts')).copy,
  },
  {
    name: 'migrate',
    about: 'make the tables of a store in PostgreSQL, or bring them up to date',
    words: [],
    options: [{ flags: '--print-sql', about: 'print what would be done, and do nothing' }],
    load: async () => (await import('./migrate.ts')).migrate,
  },
  {
    name: 'status',
    about: 'tell how the store is: sessions, tasks, sizes, the disk and what it promises',
    words: [],
    load: async () => (await import('./status.ts')).status,
  },
  {
    name: 'doctor',
    about: 'verify every checksum, chain and file; exits with 5 if there is damage',
    words: [{ word: '[id]', about: 'only this session; else all of every space' }],
    options: [
      { flags: '--rebuild-catalog', about: 'make the catalog anew instead, from the journals' },
      { flags: '--repair', about: 'set damaged places aside and note that they are known; changes and removes nothing' },
      { flags: '--rate <n>', about: 'how many sessions a second at most', parse: count('--rate') },
      { flags: '--since-last', about: 'only sessions that have grown since they were last found whole' },
    ],
    load: async () => (await import('./doctor.ts')).doctor,
  },
  {
    name: 'delete',
    about: 'delete a session; it can be restored until it is purged',
    words: [ID],
    load: async () => (await import('./removal.ts')).remove,
  },
  {
    name: 'restore',
    about: 'bring back a deleted session',
    words: [ID],
    load: async () => (await import('./removal.ts')).restore,
  },
  {
    name: 'purge',
    about: 'destroy what was deleted long ago, but for what a fork still reaches',
    words: [],
    options: [
      { flags: '--older-than <duration>', about: 'deleted at least this long ago', parse: duration('--older-than'), default: '30d' },
      { flags: '--dry-run', about: 'only tell what would be destroyed' },
    ],
    load: async () => (await import('./removal.ts')).purge,
  },
  {
    name: 'mcp',
    about: 'serve the store to an agent by the Model Context Protocol, over standard input and output',
    words: [],
    options: [{ flags: '--allow-write', about: 'the agent may also append, fork and commit' }],
    load: async () => (await import('./mcp.ts')).mcp,
  },
  {
    name: 'expire',
    about: 'delete sessions that were idle for long, and purge what was deleted long ago; nothing unless told how long',
    words: [],
    options: [
      { flags: '--idle <duration>', about: 'delete what nobody has changed for so long, such as 90d', parse: duration('--idle') },
      { flags: '--deleted <duration>', about: 'purge what was deleted so long ago, such as 30d', parse: duration('--deleted') },
      { flags: '--dry-run', about: 'only tell what would be done' },
    ],
    load: async () => (await import('./removal.ts')).expire,
  },
  {
    name: 'erase',
    about: 'destroy one message, wherever it stands and whatever was made from it; or, with --owner, everything of an owner',
    words: [
      { word: '[id]', about: 'id of the session' },
      { word: '[message]', about: 'id of the message' },
    ],
    options: [
      { flags: '--owner <owner>', about: 'all sessions of this owner, deleted or not' },
      { flags: '--dry-run', about: 'only tell which sessions of the owner would be destroyed' },
    ],
    load: async () => (await import('./removal.ts')).erase,
  },
  {
    name: 'completion',
    about: 'print a script that completes words in a shell',
    words: [{ word: '<shell>', about: 'which shell', choices: ['bash', 'zsh', 'fish'] }],
    load: async () => (await import('./completion.ts')).completion,
  },
]
