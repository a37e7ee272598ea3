/** What the page says about a session that lost something, and how the loss is accepted. The server is made to say so: the page is what is tested. */
import { afterAll, describe, expect, test } from 'vitest'
import { closeBrowser, expectAccessible, platform, say, visit } from './browser.ts'

afterAll(closeBrowser)

type Page = Awaited<ReturnType<typeof visit>>['page']
type Fields = Record<string, unknown>

const VANISHED = { position: 4711, count: 3, reason: 'vanished', since: '2026-11-16T00:00:00.000Z' }
const ROTTEN = { position: 90, count: 1, reason: 'rotten' }

/** Changes the result of what the server answers to some requests. */
async function changing(page: Page, path: RegExp, change: (result: Fields) => Fields): Promise<void> {
  await page.route(path, async (route) => {
    if (route.request().method() !== 'GET') return route.fallback()
    const response = await route.fetch()
    const body = (await response.json()) as { result: Fields }
    await route.fulfill({ response, json: { ...body, result: change(body.result) } })
  })
}

// Without a browser there is no page to look at; continuous integration installs one.
describe.skipIf(!platform.available)('a session that lost something', () => {
  test('has a banner with places, counts and reasons; vanished bytes are accepted by keyboard, after what is lost was shown', async () => {
    const { server, store, page, troubles } = await visit()
    await say(store, 's', 'One', 'Two')
    let accepted = false
    const mark = (place: object): object => (accepted ? { ...place, accepted: true } : place)
    await changing(page, /\/api\/v1\/sessions\/s$/, (result) => ({ ...result, status: accepted ? 'ok' : 'damaged' }))
    await changing(page, /\/api\/v1\/sessions\/s\/messages\?/, (result) => ({ ...result, damage: [mark(ROTTEN), mark(VANISHED)] }))
    await page.route(/\/accept-damage/, (route) => {
      accepted = true
      const result = { session_id: 's', version: '7-00000000', duplicate: false, accepted: [VANISHED] }
      return route.fulfill({ json: { status: 'ok', result } })
    })
    await page.goto(`${server.url}/sessions/s`)
    const banner = page.getByRole('region', { name: 'Damage' })
    await banner.getByText('2 places of the journal cannot be read.').waitFor()
    await banner.getByText('rotten: 1 message at position 90').waitFor()
    await banner.getByText(/^vanished: 3 messages at position 4,711, after/).waitFor()
    await expectAccessible(page)
    await banner.getByRole('button', { name: 'Accept damage and continue' }).focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Accept the damage of this session' })
    await dialog.getByText('4 messages are missing at 2 places (rotten; vanished)').waitFor()
    await expectAccessible(page)
    expect(accepted).toBe(false)
    await dialog.getByRole('button', { name: 'Accept and continue' }).focus()
    await page.keyboard.press('Enter')
    await banner.getByText('This session continues after a loss that was accepted: 2 places.').waitFor()
    expect(await banner.getByRole('button').count()).toBe(0)
    await expectAccessible(page)
    expect(troubles).toEqual([])
  })

  test('offers to accept bytes that are rotten, and not what a fork inherits', async () => {
    const { server, store, page } = await visit()
    await say(store, 's', 'One')
    await changing(page, /\/api\/v1\/sessions\/s$/, (result) => ({ ...result, status: 'damaged' }))
    await changing(page, /\/api\/v1\/sessions\/s\/messages\?/, (result) => ({ ...result, damage: [ROTTEN] }))
    await page.goto(`${server.url}/sessions/s`)
    const banner = page.getByRole('region', { name: 'Damage' })
    await banner.getByText('1 place of the journal cannot be read.').waitFor()
    await banner.getByRole('button', { name: 'Accept damage and continue' }).waitFor()
    await say(store, 'fork', 'One')
    await changing(page, /\/api\/v1\/sessions\/fork$/, (result) => ({ ...result, status: 'damaged' }))
    await changing(page, /\/api\/v1\/sessions\/fork\/messages\?/, (result) => ({ ...result, damage: [{ ...ROTTEN, session: 's' }] }))
    await page.goto(`${server.url}/sessions/fork`)
    await banner.getByText('1 place of the journal cannot be read.').waitFor()
    expect(await banner.getByRole('button').count()).toBe(0)
  })

  test('of which nothing is left says so and can be accepted', async () => {
    const { server, page } = await visit()
    const error = {
      code: 'DAMAGED',
      message: 'The journal of this session has vanished.',
      details: { reason: 'vanished', retryable: false, outcome: 'none' },
    }
    await page.route(/\/api\/v1\/sessions\/s(?:$|\/)/, (route) => route.fulfill({ status: 500, json: { status: 'error', error } }))
    await page.goto(`${server.url}/sessions/s`)
    await page.getByRole('button', { name: 'Accept damage and continue' }).click()
    await page.getByRole('dialog').getByText('All messages of this session have vanished.').waitFor()
    await expectAccessible(page)
  })
})
