/**
 * Pictures of the page for the front page of the repository, from a store that it makes: `node scripts/screenshots.mjs [directory]`.
 * Needs what `npm run build` leaves, and a Chromium.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { connect } from 'holdfast/client'
import { chromium } from 'playwright-core'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const out = process.argv[2] ?? join(root, 'docs', 'screenshots')
const BROWSERS = [process.env.HOLDFAST_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const browserPath = BROWSERS.find((path) => path !== undefined && existsSync(path))

const directory = mkdtempSync(join(tmpdir(), 'holdfast-screenshots-'))
const store = join(directory, 'store')
const server = spawn(
  process.execPath,
  [join(root, 'dist', 'cli', 'start.cjs'), 'serve', '--json', '--quiet', '--store', store, '--port', '0'],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
)
const [line] = await once(createInterface(server.stdout), 'line')
const { url, ready_link: readyLink } = JSON.parse(line)

async function fill() {
  const remote = connect(url, { key: readFileSync(join(store, 'server.key'), 'utf8').trim() })
  const titles = [
    ['Nightly data migration', ['ops', 'cron']],
    ['Flaky checkout test', ['ci', 'bug']],
    ['Quarterly churn analysis', ['data']],
    ['Support: parcel 8841 lost', ['support']],
    ['Rename billing service', ['refactor']],
    ['Draft release notes 2.4', ['docs']],
    ['Investigate memory growth in workers', ['perf', 'bug']],
    ['Translate onboarding mails', ['docs', 'i18n']],
    ['Code review: retry policy', ['review']],
    ['Incident 2026-11-12 timeline', ['ops', 'incident']],
  ]
  for (const [index, [title, tags]] of titles.entries()) {
    const session = await remote.create({
      id: `session-${String(index + 1).padStart(3, '0')}`,
      title,
      tags,
      owner: index % 3 === 0 ? 'ana' : 'ben',
    })
    for (let n = 0; n < 4 + index * 3; n++) {
      await session.append({
        role: n % 2 === 0 ? 'user' : 'assistant',
        content: `${n % 2 === 0 ? 'Please look at' : 'I looked at'} step ${n + 1} of “${title}”.`,
      })
    }
    await session.recordUsage({
      model: index % 2 === 0 ? 'large-4' : 'small-2',
      inputTokens: 1200 * (index + 1),
      outputTokens: 300 * (index + 1),
    })
  }
  const session = await remote.session('session-002')
  const committed = await session.commit({ keep: 2 })
  if (committed.status === 'accepted') await committed.task.completed()
  for (const message of conversation()) await session.append(message)
  await session.snapshot('before the fix')
  const fork = await session.fork({ title: 'Flaky checkout test: other idea', id: 'session-002-b' })
  await fork.append({ role: 'user', content: 'Try a virtual clock instead.' })
  await fork.append({ role: 'assistant', content: 'A virtual clock makes the test deterministic; here is the change.' })
  const child = await session.child({ title: 'Sub-agent: search the logs', id: 'session-002-c' })
  await child.append({ role: 'assistant', content: 'Searched 4,112 lines; three of them time out after 300 ms.' })
  await session.append({
    role: 'assistant',
    content: 'The test passes now, **200 runs of 200**. The sub-agent found no other timeout of that kind.',
  })
  await remote.close()
}

function conversation() {
  return [
    { role: 'user', content: 'The checkout test fails about once in forty runs. Can you find out why?' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'It fails rarely, so it is likely a race or a timeout. Look at the test first, then run it often.' },
        { type: 'text', text: 'I read the test and ran it 40 times.' },
        { type: 'tool_use', id: 'call_1', name: 'read_file', input: { path: 'test/checkout.test.ts' } },
        { type: 'tool_use', id: 'call_2', name: 'shell', input: { command: 'for i in $(seq 40); do npm test -- checkout; done' } },
      ],
    },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'call_1',
          content: "test('pays', async () => {\n  await pay(cart)\n  await sleep(300)\n  expect(status()).toBe('paid')\n})",
        },
        { type: 'tool_result', tool_use_id: 'call_2', content: '39 passed, 1 failed\nexpected "pending" to be "paid"', is_error: true },
      ],
    },
    {
      role: 'assistant',
      content:
        "The test **sleeps 300 ms** and hopes that the payment is through by then. It should wait for the event instead:\n\n```ts\ntest('pays', async () => {\n  const paid = once(orders, 'paid')\n  await pay(cart)\n  await paid\n  expect(status()).toBe('paid')\n})\n```\n\n| | before | after |\n|---|---|---|\n| failures | 1 in 40 | 0 in 200 |\n| time of a run | 0.41 s | 0.12 s |",
    },
    { role: 'user', content: 'Good. Please apply it and run it 200 times.' },
  ]
}

const SHOTS = [
  { name: 'sessions', theme: 'light', path: '/', ready: '.row' },
  { name: 'session', theme: 'light', path: '/sessions/session-002', ready: '.token' },
  { name: 'session-dark', theme: 'dark', path: '/sessions/session-002', ready: '.token' },
  { name: 'context', theme: 'light', path: '/sessions/session-002/context', ready: '.context-part' },
  { name: 'compare', theme: 'light', path: '/sessions/session-002/tree?with=session-002-b', ready: '.column .message' },
  { name: 'overview', theme: 'dark', path: '/overview', ready: '.uplot' },
]

try {
  await fill()
  mkdirSync(out, { recursive: true })
  const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-background-networking'] })
  const context = await browser.newContext({ viewport: { width: 1100, height: 700 } })
  const page = await context.newPage()
  await page.goto(readyLink)
  for (const { name, theme, path, ready } of SHOTS) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
    await page.goto(`${url}${path}`)
    await page.locator(ready).first().waitFor()
    await page.waitForTimeout(500)
    await page.screenshot({ path: join(out, `${name}.png`) })
  }
  await browser.close()
} finally {
  server.kill('SIGTERM')
  await once(server, 'close')
  rmSync(directory, { recursive: true, force: true })
}
