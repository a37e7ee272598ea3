import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Context } from './context.ts'
import { Output } from './output.ts'

test('what is to be done before closing is done on a store that is still open', async () => {
  const store = mkdtempSync(join(tmpdir(), 'holdfast-context-'))
  onTestFinished(() => rmSync(store, { recursive: true, force: true }))
  const out = new Output({ json: false, quiet: true, onGone: () => undefined })
  const context = new Context(out, new AbortController().signal, { store })
  const session = (await context.write()).session('a')
  context.beforeClosing(async () => void (await session.append({ role: 'user', content: 'the last word' })))
  await context.close()
  await expect(session.append({ role: 'user', content: 'too late' })).rejects.toMatchObject({ code: 'CLOSED' })

  const again = new Context(out, new AbortController().signal, { store })
  expect((await (await again.read()).session('a').messages()).messages).toHaveLength(1)
  await again.close()
})
