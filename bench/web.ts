/**
 * The page in a browser, over a store with many sessions and one long one. Times are what somebody waits: from the beginning of the navigation
 * until the thing itself is on the screen. The server and the browser share the machine.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, chromium, type Page } from 'playwright-core'
import { openStore } from '../src/store/open-store.ts'
import { browserPath } from '../test/platform.ts'
import { startHoldfast } from './child-server.ts'
import { type Benchmark, figure } from './harness.ts'

const AT_ONCE = 400
const BATCH = 100
const PER_SECOND = 50

export const web: Benchmark = {
  name: 'web',
  about:
    'The web page over 100,000 sessions and one of 200,000 messages: until the list and the end of the session are shown, the longest task while ' +
    'scrolling, and what the memory of the page grows by in five minutes of 50 messages a second.',
  run: async ({ directory, quick }) => {
    const [sessions, messages] = quick ? [3000, 20_000] : [100_000, 200_000]
    await fill(directory, sessions, messages)
    const server = await startHoldfast(directory)
    const browser = await chromium.launch({
      executablePath: browserPath() as string,
      args: ['--no-sandbox', '--disable-background-networking', '--js-flags=--expose-gc'],
    })
    try {
      const url = `http://127.0.0.1:${server.port}`
      const page = await signedIn(browser, url, server.key)
      const rounds = quick ? 3 : 7
      const list = await timesOf(rounds, page, `${url}/`, '.row-link')
      const end = await timesOf(rounds, page, `${url}/sessions/long`, `[data-message="m${messages}"]`)
      await page.goto(`${url}/`)
      await page.locator('.row-link').first().waitFor()
      const inList = await longestTask(page, '.scroller', quick ? 2000 : 6000)
      await page.goto(`${url}/sessions/long`)
      await page.locator(`[data-message="m${messages}"]`).waitFor()
      const inTranscript = await longestTask(page, '.transcript-scroller', quick ? 2000 : 6000)
      const grown = await tail(page, url, server.key, quick ? 10 : 300)
      return [
        figure(`the list of ${sessions.toLocaleString('en')} sessions is shown`, 'ms', list, { is: 'at most', value: 1000 }),
        figure(`the end of ${messages.toLocaleString('en')} messages is shown`, 'ms', end, { is: 'at most', value: 1000 }),
        figure('longest task while the list is scrolled', 'ms', [inList], { is: 'at most', value: 100 }),
        figure('longest task while the transcript is scrolled', 'ms', [inTranscript], { is: 'at most', value: 100 }),
        figure('memory that the page gained while it followed', 'MB', [grown], { is: 'at most', value: 20 }),
      ]
    } finally {
      await browser.close()
      await server.stop()
    }
  },
}

async function fill(directory: string, sessions: number, messages: number): Promise<void> {
  const store = await openStore(directory)
  for (let from = 0; from < sessions; from += AT_ONCE) {
    const ids = Array.from({ length: Math.min(AT_ONCE, sessions - from) }, (_, i) => from + i)
    await Promise.all(ids.map((n) => store.create<object>({ id: `session-${n}`, title: `Conversation number ${n}`, tags: [`t${n % 20}`] })))
  }
  const session = store.session<object>('long')
  for (let from = 1; from <= messages; from += BATCH) await session.append(Array.from({ length: BATCH }, (_, i) => messageOf(from + i)))
  await store.list({ limit: 1 })
  await store.close()
}

function messageOf(n: number): object {
  const content = `Message **${n}**: ${'some words that make it as long as messages are. '.repeat((n % 5) + 1)}`
  return { id: `m${n}`, role: n % 2 === 0 ? 'assistant' : 'user', content }
}

async function signedIn(browser: Browser, url: string, key: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.goto(url)
  await page.getByLabel('Key', { exact: true }).fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('.row-link').first().waitFor()
  return page
}

async function timesOf(rounds: number, page: Page, address: string, selector: string): Promise<number[]> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    await page.goto('about:blank')
    const beganMs = performance.now()
    await page.goto(address, { waitUntil: 'commit' })
    await page.locator(selector).first().waitFor()
    times.push(performance.now() - beganMs)
  }
  return times
}

/** Turns the wheel as fast as a hand does, both ways, and tells how long the page was deaf at most. */
async function longestTask(page: Page, scroller: string, forMs: number): Promise<number> {
  await page.evaluate(`
    window.longest = 0
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration)
    }).observe({ type: 'longtask' })`)
  await page.locator(scroller).hover()
  const untilMs = performance.now() + forMs
  for (let turn = 0; performance.now() < untilMs; turn++) {
    await page.mouse.wheel(0, (turn % 80 < 50 ? 1 : -1) * (scroller === '.scroller' ? 600 : -600))
    await sleep(16)
  }
  return (await page.evaluate('window.longest')) as number
}

/** What is alive in the page when it has followed for a while, against what was when it began. */
async function tail(page: Page, url: string, key: string, forSeconds: number): Promise<number> {
  const devtools = await page.context().newCDPSession(page)
  const usedBytes = async (): Promise<number> => {
    await devtools.send('HeapProfiler.collectGarbage')
    return (await devtools.send('Runtime.getHeapUsage')).usedSize
  }
  await page.keyboard.press('G')
  const append = async (seconds: number, name: string): Promise<void> => {
    for (let n = 0; n < seconds * PER_SECOND; n++) {
      const dueMs = performance.now() + 1000 / PER_SECOND
      const body = JSON.stringify({ ...messageOf(n), id: `${name}-${n}` })
      const headers = { 'x-api-key': key, 'content-type': 'application/json' }
      await fetch(`${url}/api/v1/sessions/long/messages`, { method: 'POST', headers, body })
      await sleep(Math.max(dueMs - performance.now(), 0))
    }
    await page.locator(`[data-message="${name}-${seconds * PER_SECOND - 1}"]`).waitFor()
  }
  // What fills up to its limit is full first.
  await append(Math.min(forSeconds, 60), 'before')
  const before = await usedBytes()
  await append(forSeconds, 'after')
  return ((await usedBytes()) - before) / 1e6
}
