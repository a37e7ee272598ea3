/** The page as its users have it: the built server as a process, and a real browser that was let in by the ready link. */
import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { connect, type RemoteStore } from '../../../src/client/index.ts'
import { browserPath, requirePlatform } from '../../platform.ts'
import { ServerProcess, storeDirectory } from '../../server/process.ts'

export const platform = requirePlatform('chromium')

let launching: Promise<Browser> | undefined

/** One browser for all tests of a file; it ends with the process. */
function browser(): Promise<Browser> {
  launching ??= chromium.launch({
    executablePath: browserPath() as string,
    args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update'],
  })
  return launching
}

export async function closeBrowser(): Promise<void> {
  await (await launching)?.close()
  launching = undefined
}

export interface Visit {
  readonly server: ServerProcess
  readonly store: RemoteStore
  readonly page: Page
  readonly context: BrowserContext
  /** What the page complained about, and every address outside that it asked for. */
  readonly troubles: string[]
}

/** A server of its own, its store, and a page that is signed in. */
export async function visit(path = '/', words: readonly string[] = []): Promise<Visit> {
  const server = await ServerProcess.start(storeDirectory(), words)
  const store = connect(server.url, { key: server.key })
  onTestFinished(() => store.close())
  const { page, context, troubles } = await openPage(server)
  await page.goto(server.told.ready_link)
  if (path !== '/') await page.goto(`${server.url}${path}`)
  return { server, store, page, context, troubles }
}

/** Another browser, with nothing of the first one. */
export async function openPage(server: ServerProcess): Promise<{ page: Page; context: BrowserContext; troubles: string[] }> {
  const context = await (await browser()).newContext({ viewport: { width: 1200, height: 800 } })
  onTestFinished(() => context.close())
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const page = await context.newPage()
  const troubles: string[] = []
  page.on('pageerror', (error) => troubles.push(`error: ${error.message}`))
  page.on('dialog', (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    if (/Content Security Policy|violates/i.test(message.text())) troubles.push(`policy: ${message.text()}`)
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith('data:')) troubles.push(`asked for ${request.url()}`)
  })
  return { page, context, troubles }
}

/** Signs a page in with a key. */
export async function signIn(page: Page, server: ServerProcess, path = '/'): Promise<void> {
  await page.goto(`${server.url}${path}`)
  await page.getByLabel('Key', { exact: true }).fill(server.key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('Key', { exact: true }).waitFor({ state: 'detached' })
}

/** Checks that the page is accessible, in both themes. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.evaluate(axe.source)
    const found = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as axe.AxeResults
    const told = found.violations.map(({ id, nodes }) => `${colorScheme} ${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
    expect(told).toEqual([])
  }
}

export async function say(store: RemoteStore, session: string, ...texts: readonly string[]): Promise<void> {
  const handle = store.session(session)
  for (const [index, content] of texts.entries()) await handle.append({ role: index % 2 === 0 ? 'user' : 'assistant', content })
}
