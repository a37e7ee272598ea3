import { afterAll, describe, expect, test } from 'vitest'
import { closeBrowser, expectAccessible, platform, say, visit } from './browser.ts'

afterAll(closeBrowser)

// Without a browser there is no page to look at; continuous integration installs one.
describe.skipIf(!platform.available)('the other views', () => {
  test('the context shows what a model would get, and with a smaller budget what was left out and why', async () => {
    const { server, store, page, troubles } = await visit()
    const session = await store.session('s')
    await session.append(
      Array.from({ length: 60 }, (_, i) => ({
        id: `m${i}`,
        role: i % 2 === 0 ? 'user' : 'assistant',
        content: `${i} ${'word '.repeat(100)}`,
      })),
    )
    const committed = await session.commit({ keep: 40 })
    if (committed.status === 'accepted') await committed.task.completed()
    await page.goto(`${server.url}/sessions/s/context`)
    await page.getByText('in 40 messages and 1 summary').waitFor()
    await page.getByText('Nothing was left out.').waitFor()
    await expectAccessible(page)
    await page.getByLabel(/^Budget/).fill('11')
    await page.getByText(/of 2,048/).waitFor()
    await page.getByText(/things left out/).click()
    await page.getByText('no room in the budget').first().waitFor()
    const { tokens } = await session.window({ budget: 2048 })
    await page
      .getByText(`${tokens.toLocaleString('en')} tokens`)
      .first()
      .waitFor()
    await expectAccessible(page)
    expect(troubles).toEqual([])
  })

  test('forks and sub-agents are drawn from the first ancestor on, switched between, and compared from where they part', async () => {
    const { server, store, page, troubles } = await visit()
    await say(store, 'root', 'Shared one', 'Shared two', 'Only at the root')
    const root = await store.session('root')
    const { messages } = await root.messages()
    const fork = await root.fork({ id: 'fork', title: 'The other way', at: messages[1]?.id as string })
    await fork.append({ role: 'user', content: 'Only on the fork' })
    await root.child({ id: 'child', title: 'A helper' })
    await page.goto(`${server.url}/sessions/fork/tree`)
    await page.getByRole('link', { name: 'A helper' }).waitFor()
    expect(await page.locator('.tree-node').count()).toBe(3)
    expect(await page.locator('.tree-node.current').textContent()).toContain('The other way')
    await expectAccessible(page)
    await page.locator('.tree-node', { hasText: 'root' }).getByRole('button', { name: 'compare' }).click()
    await page.getByText('They share the first 2 messages').waitFor()
    await page.getByText('Only at the root').waitFor()
    await page.getByText('Only on the fork').waitFor()
    expect(await page.getByText('Shared two').count()).toBe(0)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Back to the tree' }).click()
    await page.getByRole('link', { name: 'A helper' }).click()
    await page.locator('.tree-node.current', { hasText: 'A helper' }).waitFor()
    expect(troubles).toEqual([])
  })

  test('the overview tells how much there is, what commits are at and how the store is, and verifies it', async () => {
    const { store, page, troubles } = await visit()
    await say(store, 's', 'I prefer trains.', 'Noted.')
    const session = await store.session('s')
    await session.recordUsage({ model: 'large-4', inputTokens: 1000, outputTokens: 10 })
    const committed = await session.commit()
    if (committed.status === 'accepted') await committed.task.completed()
    await page.keyboard.press('g')
    await page.keyboard.press('o')
    await page.locator('.tiles', { hasText: '2 in archives' }).waitFor()
    await page.locator('.uplot').first().waitFor()
    await page.getByText('ready, nothing behind').waitFor()
    await page.getByText('archive 1').waitFor()
    await page.getByRole('link', { name: 'large-4' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Verify every checksum' }).click()
    await page.getByText('everything is whole').waitFor()
    expect(troubles).toEqual([])
  })

  test('memories are searched, lead to where they come from, and are retracted', async () => {
    const { server, store, page, troubles } = await visit()
    await say(store, 's', 'Remember that I prefer trains to planes.', 'Noted.')
    const committed = await (await store.session('s')).commit()
    if (committed.status === 'accepted') await committed.task.completed()
    expect(await store.memories()).not.toHaveLength(0)
    await page.goto(`${server.url}/memories`)
    await page.locator('.memory', { hasText: 'trains' }).waitFor()
    await expectAccessible(page)
    await page.getByLabel('Search memories').fill('zeppelin')
    await page.getByText('No memory matches.').waitFor()
    await page.getByLabel('Search memories').fill('')
    await page.locator('.memory', { hasText: 'trains' }).getByRole('link').first().click()
    await page.locator('.message.target', { hasText: 'trains' }).waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'retract' }).first().click()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Retract', exact: true }).click()
    await page.getByText('No memories of this owner').waitFor()
    expect(await store.memories()).toEqual([])
    expect(troubles).toEqual([])
  })
})
