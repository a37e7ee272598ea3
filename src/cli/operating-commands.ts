/** The part of the command table that is for whoever answers for a store: who did what, how much there may be, and its keys. */
import { count, duration, moment } from './arguments.ts'
import type { CommandSpec } from './command-spec.ts'

export const OPERATING: readonly CommandSpec[] = [
  {
    name: 'accept-damage',
    about: 'let a session continue without what it lost; prints what is lost, which reads keep reporting as accepted',
    words: [{ word: '<id>', about: 'id of the session' }],
    options: [
      { flags: '--key <key>', about: 'idempotency key: a repeated call changes nothing' },
      { flags: '--expect <version>', about: 'only if the session still has this version' },
    ],
    load: async () => (await import('./damage.ts')).acceptDamage,
  },
  {
    name: 'audit',
    about: 'print who did what through the servers of this store, the first deed first; never what was said',
    words: [],
    options: [
      { flags: '--from <when>', about: 'a date, or how long ago, such as 7d; the last day unless told', parse: moment('--from') },
      { flags: '--to <when>', about: 'up to when', parse: moment('--to') },
      { flags: '--all-spaces', about: 'of all spaces' },
    ],
    load: async () => (await import('./audit.ts')).audit,
  },
  {
    name: 'quota',
    about: 'show or set how much a space may hold and add, or how much a key may add, with what is used; servers enforce it',
    words: [],
    options: [
      { flags: '--sessions <n>', about: 'sessions that are not deleted', parse: count('--sessions') },
      { flags: '--bytes <n>', about: 'bytes of all journals', parse: count('--bytes') },
      { flags: '--messages-per-minute <n>', about: 'messages a minute', parse: count('--messages-per-minute') },
      { flags: '--key <id>', about: 'of this key of a server: what it adds is counted from when it has a limit' },
      { flags: '--clear', about: 'no limits any more' },
    ],
    load: async () => (await import('./quota.ts')).quota,
  },
  {
    name: 'retention',
    about:
      'show or set how long a space keeps things, what is not named stays as it is; `expire` goes by it where it is told no time, and nothing happens before',
    words: [],
    options: [
      {
        flags: '--idle <duration>',
        about: 'sessions that nobody changes are deleted after so long, such as 90d',
        parse: duration('--idle'),
      },
      {
        flags: '--archives <duration>',
        about: 'the messages of archives are erased after so long; their summaries stay',
        parse: duration('--archives'),
      },
      { flags: '--deleted <duration>', about: 'what was deleted is purged after so long, such as 30d', parse: duration('--deleted') },
      { flags: '--clear', about: 'everything is kept again' },
    ],
    load: async () => (await import('./quota.ts')).retention,
  },
  {
    name: 'encryption',
    about: 'make a master key; wrap the keys of all sessions anew; or destroy the key of one, which nobody can read from then on',
    words: [
      { word: '<action>', about: 'what to do', choices: ['new-key', 'rotate', 'destroy'] },
      { word: '[what]', about: 'new-key: the file to make; rotate: the file with the next master key; destroy: the id of the session' },
    ],
    load: async () => (await import('./encryption.ts')).encryption,
  },
]
