import { afterAll, describe, expect, test } from 'vitest'
import { closeBrowser, expectAccessible, openPage, platform, say, signIn, visit } from './browser.ts'

afterAll(closeBrowser)

const CALL = {
  role: 'assistant',
  content: [
    { type: 'thinking', thinking: 'I should look at the file.' },
    { type: 'text', text: 'Let me **look**.\n\n```ts\nconst answer: number = 42\n```' },
    { type: 'tool_use', id: 'c1', name: 'read_file', input: { path: 'a.txt' } },
  ],
}
const RESULT = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'the content of the file' }] }

// Without a browser there is no page to look at; continuous integration installs one.
describe.skipIf(!platform.available)('a session', () => {
  test('markdown, code, reasoning and a folded call with its result are shown, and new messages as they come', async () => {
    const { server, store, page, troubles } = await visit()
    await say(store, 's', 'Please read a.txt')
    const session = store.session('s')
    await session.append(CALL)
    await session.append(RESULT)
    await page.goto(`${server.url}/sessions/s`)
    await page.locator('strong', { hasText: 'look' }).waitFor()
    await page.locator('.token', { hasText: '42' }).waitFor()
    expect(await page.getByText('I should look at the file.').count()).toBe(0)
    await page.getByRole('button', { name: 'Reasoning' }).click()
    await page.getByText('I should look at the file.').waitFor()
    expect(await page.getByText('the content of the file').count()).toBe(0)
    await page.getByRole('button', { name: /read_file.*done/ }).click()
    await page.getByText('the content of the file').waitFor()
    await expectAccessible(page)
    await session.append({ role: 'assistant', content: 'It is done.' })
    await page.getByText('It is done.').waitFor()
    expect(troubles).toEqual([])
  })

  test('a long session opens at the end, keeps its place while it grows, and is read from any place', async () => {
    const { server, store, page } = await visit()
    const session = store.session('long')
    for (let from = 1; from <= 1000; from += 100) {
      await session.append(
        Array.from({ length: 100 }, (_, i) => ({ id: `m${from + i}`, role: 'user', content: `This is message ${from + i}.` })),
      )
    }
    await page.goto(`${server.url}/sessions/long`)
    await page.getByText('This is message 1000.').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('g')
    await page.getByText('This is message 1.', { exact: true }).waitFor()
    await session.append({ role: 'assistant', content: 'Something new.' })
    await page.getByRole('button', { name: '1 new' }).waitFor()
    expect(await page.getByText('This is message 1.', { exact: true }).isVisible()).toBe(true)
    await page.getByRole('button', { name: '1 new' }).click()
    await page.getByText('Something new.').waitFor()
    await session.append({ role: 'assistant', content: 'Newer still.' })
    await page.getByText('Newer still.').waitFor()
    await page.goto(`${server.url}/sessions/long?m=m500`)
    await page.locator('.message.target', { hasText: 'This is message 500.' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('"message 77"')
    await page.getByText('0 of 1').waitFor()
    await page.keyboard.press('Enter')
    await page.locator('.message.target', { hasText: 'This is message 77.' }).waitFor()
  })

  test('it is renamed, tagged, written to, forked, reverted and all that undone', async () => {
    const { server, store, page } = await visit()
    await say(store, 's', 'First thing', 'Second thing', 'Third thing')
    const session = store.session('s')
    await page.goto(`${server.url}/sessions/s`)
    await page.getByText('Third thing').waitFor()
    await page.keyboard.press('e')
    await page.getByLabel('Title').fill('A better name')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'A better name' }).waitFor()
    expect((await session.info()).title).toBe('A better name')
    await page.getByRole('button', { name: '+ tag' }).click()
    await page.getByLabel('New tag').fill('urgent')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'urgent' }).waitFor()
    await page.getByLabel('Message', { exact: true }).fill('Fourth thing')
    await page.keyboard.press('Control+Enter')
    await page.getByLabel('Messages').getByText('Fourth thing').waitFor()
    const first = page.locator('.message', { hasText: 'First thing' })
    await first.hover()
    await first.getByRole('button', { name: 'Revert to here' }).click()
    await page.getByText('Third thing').waitFor({ state: 'detached' })
    expect((await session.messages()).messages).toHaveLength(1)
    await page.getByRole('button', { name: 'Undo' }).last().click()
    await page.getByText('Third thing').waitFor()
    const second = page.locator('.message', { hasText: 'Second thing' })
    await second.hover()
    await second.getByRole('button', { name: 'Show the raw record' }).click()
    await page.getByRole('dialog').getByText('messages.appended').waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await second.hover()
    await second.getByRole('button', { name: 'Copy a link' }).click()
    expect(await page.evaluate('navigator.clipboard.readText()')).toContain(`${server.url}/sessions/s?m=`)
    await second.getByRole('button', { name: 'Fork from here' }).click()
    await page.getByText('This is the fork.').waitFor()
    await page.getByText('Third thing').waitFor({ state: 'detached' })
    await page.getByText('Second thing').waitFor()
  })

  test('a commit shows its progress and becomes a chapter with its messages inside', async () => {
    const { server, store, page } = await visit()
    await say(store, 's', 'I prefer trains to planes.', 'Noted.')
    await page.goto(`${server.url}/sessions/s`)
    await page.getByText('Noted.').waitFor()
    await page.getByRole('button', { name: 'Commit' }).click()
    await page.getByText('Archive 1 took 2 messages.').waitFor()
    await page.getByText('Archive 1 is complete.').waitFor()
    await page.getByRole('region', { name: 'Archive 1' }).waitFor()
    await page.locator('.message').first().waitFor({ state: 'detached' })
    await page.locator('.chapter > button').click()
    await page.locator('.message', { hasText: 'Noted.' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Commit' }).click()
    await page.getByText('Nothing to commit').waitFor()
  })

  test('a failed task is explained, and retried', async () => {
    const { server, store, page } = await visit('/', ['--no-worker'])
    await say(store, 's', 'Hello', 'Hi')
    const committed = await store.session('s').commit()
    if (committed.status !== 'accepted') throw new Error('It was not accepted.')
    await page.goto(`${server.url}/sessions/s`)
    await page.getByText('Archive 1 waits for a worker').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Archive 1 was cancelled').waitFor()
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByText('Archive 1 waits for a worker').waitFor()
    expect((await committed.task.info()).status).toBe('pending')
  })

  test('snapshots are taken and gone back to', async () => {
    const { server, store, page } = await visit()
    await say(store, 's', 'Before it')
    await page.goto(`${server.url}/sessions/s`)
    await page.getByText('Before it').waitFor()
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: /Snapshots/ }).click()
    await page.getByLabel(/Name of a new one/).fill('calm')
    await page.getByRole('button', { name: 'Take a snapshot' }).click()
    await page.getByText('here', { exact: true }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await say(store, 's', 'Behind it')
    await page.getByText('Behind it').waitFor()
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: /Snapshots/ }).click()
    await page.getByRole('button', { name: 'Revert to it' }).click()
    await page.getByText('Behind it').waitFor({ state: 'detached' })
  })

  test('a share says what becomes public, opens without a key, and is revoked', async () => {
    const { server, store, page } = await visit()
    await say(store, 's', 'Public words')
    await page.goto(`${server.url}/sessions/s`)
    await page.getByRole('button', { name: 'Share' }).click()
    await page.getByText('the 1 message up to now').waitFor()
    await page.getByRole('button', { name: 'Make a link' }).click()
    const link = (await page.getByLabel('Link', { exact: true }).textContent()) as string
    await expectAccessible(page)
    const other = await openPage(server)
    await other.page.goto(link)
    await other.page.getByText('Public words').waitFor()
    await other.page.getByText('1 message, as it was on').waitFor()
    expect(await other.page.getByRole('button', { name: /Append|Fork|Revert/ }).count()).toBe(0)
    await expectAccessible(other.page)
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('Revoked: the link opens nothing').waitFor()
    expect((await other.page.goto(link))?.status()).toBe(404)
    await other.page.getByText('This link opens nothing').waitFor()
    await expectAccessible(other.page)
    expect(other.troubles).toEqual([])
  })

  test('it is exported, its commands are copied, it is deleted, seen as deleted, and restored', async () => {
    const { server, store, page } = await visit()
    await say(store, "it's", 'Words')
    await page.goto(`${server.url}/sessions/${encodeURIComponent("it's")}`)
    await page.getByText('Words').waitFor()
    await page.getByRole('button', { name: 'More actions' }).click()
    await expectAccessible(page)
    const download = page.waitForEvent('download')
    await page.getByRole('menuitem', { name: 'Export: Markdown' }).click()
    expect((await download).suggestedFilename()).toContain('markdown')
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Copy the command to export it' }).click()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`holdfast export 'it'\\''s' --format jsonl --store ${server.url}`)
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByText('Deleted. It can be restored').waitFor()
    await page.goto(`${server.url}/?status=deleted`)
    await page.getByRole('link', { name: /it's/ }).click()
    await page.getByRole('button', { name: 'Restore' }).click()
    await page.getByText('Words').waitFor()
  })

  test('two browsers on one session stay in step', async () => {
    const { server, store, page } = await visit()
    await say(store, 's', 'Hello')
    const { page: other } = await openPage(server)
    await signIn(other, server, '/sessions/s')
    await page.goto(`${server.url}/sessions/s`)
    for (const one of [page, other]) await one.getByText('Hello').waitFor()
    await page.getByLabel('Message', { exact: true }).fill('From the first')
    await page.getByRole('button', { name: 'Append' }).click()
    await other.getByLabel('Messages').getByText('From the first').waitFor()
    await other.getByLabel('Message', { exact: true }).fill('From the second')
    await other.getByRole('button', { name: 'Append' }).click()
    await page.getByLabel('Messages').getByText('From the second').waitFor()
    await other.keyboard.press('Escape')
    await other.keyboard.press('e')
    await other.getByLabel('Title').fill('A name for both')
    await other.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'A name for both' }).waitFor()
    const words = (one: typeof page) => one.locator('.prose').allTextContents()
    expect(await words(page)).toEqual(await words(other))
  })

  test('whoever may only read sees no way to write', async () => {
    const { server, store } = await visit()
    await say(store, 's', 'Hello')
    const { key } = await store.createKey({ scope: 'read' })
    const { page } = await openPage(server)
    await page.goto(`${server.url}/sessions/s`)
    await page.getByLabel('Key', { exact: true }).fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Hello').waitFor()
    await page.getByText('read only').waitFor()
    for (const name of ['Append', 'Commit', 'Share', 'Revert to here']) expect(await page.getByRole('button', { name }).count()).toBe(0)
  })

  test('a hostile transcript does nothing, asks for nothing, and breaks no layout', async () => {
    const { server, store, page, troubles } = await visit()
    const evil = [
      '<script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>',
      '[click](javascript:alert(4)) <a href="javascript:alert(5)">x</a> ![remote](https://tracker.example/pixel.png) ![d](data:text/html;base64,PHNjcmlwdD4=)',
      'w'.repeat(20_000),
      '\u202e right to left \u202d مرحبا بالعالم',
      '\u001b[31mred\u001b[0m \u0007 bell',
      '```html\n<script>alert(6)</script>\n',
      '# '.repeat(500),
      '|a|\n|-|\n'.repeat(300),
      '> '.repeat(300),
      '*'.repeat(3000),
    ]
    const session = await store.create({ id: 'evil', title: '<img src=x onerror=alert(7)>', tags: ['<b>'] })
    for (const content of evil) await session.append({ role: 'assistant', content })
    await session.append({ role: '<script>alert(8)</script>', content: 'a role' })
    await session.append({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'big', function: { name: '<i>tool</i>', arguments: '{broken' } }],
    })
    await session.append({
      role: 'tool',
      tool_call_id: 'big',
      content: `<script>alert(9)</script>\u001b[2J${'0123456789'.repeat(500_000)}`,
    })
    await session.append({ role: 'user', content: 'The last one.' })
    await page.goto(`${server.url}/sessions/evil`)
    await page.getByText('The last one.').waitFor()
    await page.getByRole('button', { name: /<i>tool/ }).click()
    await page.getByText('5.0 MB more').waitFor()
    await page.getByRole('button', { name: 'Show the first' }).click()
    await page.keyboard.press('g')
    await page.keyboard.press('g')
    await page.getByText('<script>alert(1)</script>').waitFor()
    await page.getByRole('button', { name: 'Show picture from tracker.example' }).waitFor()
    expect(await page.getByText('click', { exact: true }).getAttribute('href')).toBe('')
    for (const width of [1200, 360]) {
      await page.setViewportSize({ width, height: 700 })
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    }
    expect(await page.locator('script:not([src])').count()).toBe(0)
    const { token } = await session.share()
    await page.goto(`${server.url}/shared/${token}`)
    await page.getByText('<script>alert(1)</script>').waitFor()
    await page.getByRole('heading', { name: '<img src=x onerror=alert(7)>' }).waitFor()
    expect(troubles).toEqual([])
  })
})
