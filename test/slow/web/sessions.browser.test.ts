import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterAll, describe, expect, test } from 'vitest'
import { ServerProcess } from '../../server/process.ts'
import { closeBrowser, expectAccessible, openPage, platform, say, signIn, visit } from './browser.ts'

afterAll(closeBrowser)

// Without a browser there is no page to look at; continuous integration installs one.
describe.skipIf(!platform.available)('the list of sessions', () => {
  test('the ready link leads to a page that teaches how to begin, and shows the first session as it comes', async () => {
    const { store, page, troubles } = await visit()
    await page.getByRole('heading', { name: 'No sessions yet' }).waitFor()
    await expectAccessible(page)
    await say(store, 'first', 'Hello')
    await page.getByRole('link', { name: /^first/ }).waitFor()
    await page.getByText('live').waitFor()
    expect(troubles).toEqual([])
  })

  test('whoever has no cookie signs in with a key, and is told if it is wrong', async () => {
    const { server, store } = await visit()
    await say(store, 'hidden', 'Hello')
    const { page, troubles } = await openPage(server)
    await page.goto(server.url)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await expectAccessible(page)
    await page.getByLabel('Key', { exact: true }).fill('hf_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('This key is not known here').waitFor()
    await signIn(page, server)
    await page.getByRole('link', { name: /hidden/ }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(troubles).toEqual([])
  })

  test('search as one types marks the words; filters stand in the address and survive a reload', async () => {
    const { server, store, page } = await visit()
    await (await store.create({ id: 'a', title: 'Lost parcel', tags: ['support'] })).append({
      role: 'user',
      content: 'The zeppelin has landed.',
    })
    await (await store.create({ id: 'b', title: 'Other matter' })).append({ role: 'user', content: 'Nothing here.' })
    await page.getByRole('link', { name: /Lost parcel/ }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('zepp')
    await page.locator('.hit mark', { hasText: 'zeppelin' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('searchbox').fill('parcel')
    // The hits of the words before stay until the new ones arrive, so two links may have this name for a moment.
    await page
      .getByLabel('Sessions by title')
      .getByRole('link', { name: /Lost parcel/ })
      .waitFor()
    await page.getByRole('searchbox').fill('')
    await page.getByLabel('Only sessions with this tag').fill('support')
    await page.keyboard.press('Enter')
    await page.getByText('1 session', { exact: true }).waitFor()
    expect(new URL(page.url()).search).toBe('?tag=support')
    await page.reload()
    await page.getByText('1 session', { exact: true }).waitFor()
    expect(await page.getByRole('listitem').count()).toBe(1)
    await page.goto(`${server.url}/?q=nowhere`)
    await page.getByText('Nothing has “nowhere”').waitFor()
  })

  test('several sessions are tagged, exported and deleted at once, and the deletion is undone', async () => {
    const { store, page } = await visit()
    for (const id of ['a', 'b', 'c']) await say(store, id, 'Hello')
    await page.getByLabel('Select a', { exact: true }).check()
    await page.getByLabel('Select b', { exact: true }).check()
    await page.getByRole('button', { name: 'Tag…' }).click()
    await page.getByLabel(/^Tags/).fill('done')
    await page.getByRole('button', { name: 'Tag', exact: true }).click()
    await page.getByText('Tagged 2 sessions.').waitFor()
    expect((await store.list({ tag: 'done' })).sessions.map(({ id }) => id).sort()).toEqual(['a', 'b'])
    await page.getByLabel('Select a', { exact: true }).check()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export' }).click()
    expect((await download).suggestedFilename()).toBe('a.jsonl')
    await page.getByLabel('Select a', { exact: true }).check()
    await page.getByLabel('Select b', { exact: true }).check()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('1 session', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Undo' }).last().click()
    await page.getByRole('link', { name: /^a/ }).waitFor()
    expect((await store.list()).sessions).toHaveLength(3)
  })

  test('it is used by keyboard alone: to a session and back, the palette, the keys themselves', async () => {
    const { server, store, page } = await visit()
    for (const id of ['one', 'two']) await say(store, id, 'Hello')
    for (const id of [/^one/, /^two/]) await page.getByRole('link', { name: id }).waitFor()
    // As fast as fingers are: no key waits for what the one before it has shown.
    await pressAtOnce(page, ['j', 'j'])
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'one' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('s')
    await page.getByRole('link', { name: /^two/ }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('Next session').first().waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Command or session' }).fill('two')
    await page.getByRole('option', { name: /two/ }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${server.url}/sessions/two`)
  })

  test('keys go on with the session that has the focus when others come to the front', async () => {
    const { store, page } = await visit()
    for (const id of ['one', 'two', 'three']) {
      await say(store, id, 'Hello')
      await page.getByRole('link', { name: new RegExp(`^${id}`) }).waitFor()
    }
    const focused = page.locator('.row.active .row-link:focus')
    await pressAtOnce(page, ['j', 'j'])
    expect(await focused.getAttribute('data-session')).toBe('two')
    // The page puts `two` behind `one` now: whatever has the focus is taken out and put in again.
    await say(store, 'one', 'Again')
    await page.locator('[data-index="0"] [data-session="one"]').waitFor()
    expect(await focused.getAttribute('data-session')).toBe('two')
    await page.keyboard.press('x')
    expect(await page.getByLabel('Select two', { exact: true }).isChecked()).toBe(true)
    await page.keyboard.press('j')
    expect(await focused.count()).toBe(1)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'two' }).waitFor()
  })

  test('a server that goes away and comes back is told of, and the page goes on', async () => {
    const { server, store, page } = await visit()
    await say(store, 'before', 'Hello')
    await page.getByRole('link', { name: /^before/ }).waitFor()
    const { port, directory } = server
    await server.kill()
    await page.getByText('The server does not answer.').waitFor()
    await ServerProcess.start(directory, [], { port })
    await page.getByText('Connected again.').waitFor()
    await say(store, 'after', 'Hello')
    await page.getByRole('link', { name: /^after/ }).waitFor()
  })

  test.each([
    ['the page goes on where it was', false],
    ['the server reports that the page may have missed something', true],
  ])('an answer that is older than what came since hides nothing, in any order of the answers: %s', async (_, isFeedLost) => {
    const { server, store, page } = await visit()
    await say(store, 'before', 'Hello')
    await page.getByRole('link', { name: /^before/ }).waitFor()
    const held: (() => void)[] = []
    await page.route(/\/sessions\?.*count=true/, async (route) => {
      const response = await route.fetch().catch(() => undefined)
      if (response === undefined) return route.abort()
      await new Promise<void>((resolve) => held.push(resolve))
      await route.fulfill({ response })
    })
    // A page that was cut off reads the list anew.
    await server.kill()
    await page.getByText('The server does not answer.').waitFor()
    if (isFeedLost) rmSync(join(server.directory, 'feed'), { recursive: true })
    const listens = page.waitForResponse((response) => response.url().endsWith('/api/v1/events') && response.ok(), { timeout: 60_000 })
    await ServerProcess.start(server.directory, [], { port: server.port })
    await expect.poll(() => held.length, { timeout: 30_000 }).toBeGreaterThan(0)
    await page.getByText('Connected again.').waitFor()
    // What comes before the page listens again is in none of the answers that are held. Another answer may have said that it is connected.
    await listens
    await say(store, 'after', 'Hello')
    await page.getByRole('link', { name: /^after/ }).waitFor()
    while (held.length > 0) {
      for (const release of held.splice(0).reverse()) release()
      await page.waitForTimeout(200)
      expect(await page.getByRole('link', { name: /^after/ }).count()).toBe(1)
    }
  })

  test('on a phone nothing is wider than the screen', async () => {
    const { server, store, page } = await visit()
    await (await store.create({ id: 'x'.repeat(200), title: 'w'.repeat(300), tags: ['t'.repeat(60)] })).append({
      role: 'user',
      content: 'Hi',
    })
    await page.setViewportSize({ width: 360, height: 700 })
    for (const path of ['/', `/sessions/${'x'.repeat(200)}`]) {
      await page.goto(`${server.url}${path}`)
      await page.locator('.row, .message').first().waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    }
  })

  test('what the first page needs weighs 200 kB at most, compressed', () => {
    type Chunk = { file: string; imports?: string[]; css?: string[]; isEntry?: boolean }
    const manifest = JSON.parse(readFileSync('dist/web/manifest.json', 'utf8')) as Record<string, Chunk>
    const needed = new Set<string>()
    const add = (name: string): void => {
      const chunk = manifest[name] as Chunk
      if (needed.has(chunk.file)) return
      needed.add(chunk.file)
      for (const other of chunk.imports ?? []) add(other)
    }
    add('index.html')
    const bytes = [...needed].reduce((sum, file) => sum + gzipSync(readFileSync(`dist/web/${file}`)).length, 0)
    expect(bytes).toBeLessThan(200_000)
    expect(Object.values(manifest).filter(({ file }) => !needed.has(file)).length).toBeGreaterThan(5)
  })
})

/** Keys that come one behind the other, with nothing drawn between them. */
function pressAtOnce(page: Page, keys: readonly string[]): Promise<void> {
  return page.evaluate(`(async () => {
    for (const key of ${JSON.stringify(keys)}) {
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
      await Promise.resolve()
    }
  })()`)
}
