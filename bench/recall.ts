import { join } from 'node:path'
import { Worker } from '../src/commit/worker.ts'
import { openStore } from '../src/store/open-store.ts'
import type { Store } from '../src/store/store.ts'
import { type Benchmark, figure, median } from './harness.ts'
import { Prose } from './real-looking.ts'

/** What somebody asks later, the turn that holds the answer, and which of its two messages does. */
const LABELLED: readonly (readonly [query: string, question: string, answer: string, holds: 'question' | 'answer'])[] = [
  [
    'which port is postgres on?',
    'Where does the staging database listen?',
    'Postgres on staging listens on port 6543, behind pgbouncer.',
    'answer',
  ],
  [
    'what was the deploy command',
    'How do I deploy the billing service?',
    'Run `make ship-billing` from the ops folder; it needs the VPN.',
    'answer',
  ],
  ['when is the release', 'When do we release 4.2?', 'The release is planned for the 14th of March, after the freeze.', 'answer'],
  [
    'allergies of my daughter',
    'My daughter is allergic to peanuts and cashews.',
    'Noted, I will keep that in mind for recipes.',
    'question',
  ],
  [
    'why did the build fail',
    'The builds have been failing since Tuesday.',
    'The lockfile was generated with another npm version; regenerate it.',
    'answer',
  ],
  ['hotel booking number', 'Please book the hotel in Bergen.', 'Booked: confirmation QX7741, two nights at the Strand.', 'answer'],
  ['which library parses dates', 'What should we use for parsing dates?', 'Temporal via the polyfill, since moment is frozen.', 'answer'],
  [
    'retry policy for webhooks',
    'How often are webhooks retried?',
    'Webhooks retry five times with exponential backoff, then land in the dead letter queue.',
    'answer',
  ],
  ['who owns the payments team', 'Who leads payments now?', 'Ines Okafor has led payments since January.', 'answer'],
  [
    'memory limit of the containers',
    'The pods keep getting killed.',
    'They exceed the memory limit of 512 MiB; raise it to 1 GiB.',
    'answer',
  ],
  ['my preferred editor theme', 'I prefer the solarized theme in my editor.', 'Solarized it is.', 'question'],
  [
    'what did the customer complain about',
    'A customer complains that invoices show the wrong currency.',
    'Their account was migrated from the EU region.',
    'question',
  ],
  ['flight to Lisbon', 'Find me flights to Lisbon.', 'TAP 553 leaves Frankfurt at 07:10 and costs 129 euros.', 'answer'],
  [
    'encryption of backups',
    'Are the backups encrypted?',
    'Backups are encrypted with age; the key lives in the vault under backup/age.',
    'answer',
  ],
  ['flaky test fix', 'test_scheduler is flaky again.', 'It compares wall clocks; freezing the clock fixes the flake.', 'answer'],
  [
    'naming of feature branches',
    'How should branches be named?',
    'Use ticket-number/short-description, for example PAY-118/refund-rounding.',
    'answer',
  ],
  ['what colour is the new logo', 'The designers sent the new logos.', 'The wordmark is teal, #0f766e, on white.', 'answer'],
  ['rate limits of the api', 'Clients get 429 responses.', 'The limit is 600 requests a minute for each key, with bursts of 50.', 'answer'],
  [
    'cache invalidation bug',
    'Users see stale prices.',
    'The cache key misses the tenant, so prices leak between tenants until the TTL ends.',
    'answer',
  ],
  ['绿茶的水温', '泡绿茶应该用多少度的水？', '绿茶用八十度左右的水，泡两分钟。', 'answer'],
  ['data retention', 'How long do we retain logs?', 'Logs are retained for 35 days, audit records for seven years.', 'answer'],
  ['how are migrations run', 'Do migrations run automatically?', 'No: run `bin/migrate up` by hand before each deployment.', 'answer'],
  ['when do I take my medicine', 'I take my thyroid medication at six in the morning.', 'I will remind you at six.', 'question'],
  ['size of the training set', 'How large is the dataset?', 'About 1.8 million labelled images, split 90/5/5.', 'answer'],
  ['password rotation', 'Do we rotate passwords?', 'Service passwords rotate every 90 days through the vault.', 'answer'],
]
/** So many are looked at: what a small share of a budget holds. */
const BEST = 5

export const recall: Benchmark = {
  name: 'recall',
  about:
    `How often the window's \`recall\` brings up the message that answers a question among its first ${BEST}, of ${LABELLED.length} labelled questions about turns that lie ` +
    'far back among thousands of others; and how long a window with it takes.',
  run: async ({ directory, quick }) => {
    const store = await openStore(join(directory, 'sessions'))
    const between = quick ? 20 : 200
    await converse(store, between)
    const session = store.session('long')
    let hits = 0
    let places = 0
    const times: number[] = []
    for (const [index, [query, , , holds]] of LABELLED.entries()) {
      const started = performance.now()
      const { recalled } = await session.window({ budget: 100_000, recall: query })
      times.push(performance.now() - started)
      const place = recalled.findIndex(({ kind, id }) => kind === 'message' && id === `${holds} ${index}`)
      if (place !== -1 && place < BEST) hits++
      if (place !== -1) places += 1 / (place + 1)
    }
    await store.close()
    return [
      figure(`answers among the first ${BEST}`, 'times', [hits / LABELLED.length], { is: 'at least', value: 0.8 }),
      figure('mean of 1 / place', 'times', [places / LABELLED.length]),
      figure('a window with recall', 'ms', [median(times)]),
    ]
  },
}

/** One long session: each labelled turn, then others that tell nothing; all of it archived and summarised. */
async function converse(store: Store, between: number): Promise<void> {
  const prose = new Prose(7)
  const session = store.session('long')
  for (const [index, [, question, answer]] of LABELLED.entries()) {
    await session.append([
      { id: `question ${index}`, role: 'user', content: question },
      { id: `answer ${index}`, role: 'assistant', content: answer },
    ])
    await session.append(
      Array.from({ length: between }, (_, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content: prose.message() })),
    )
    if (index % 5 === 4) await session.commit({ keep: 2 })
  }
  await session.commit({ keep: 2 })
  await new Worker(store).drain()
}
