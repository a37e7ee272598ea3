import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { claudeCodeHook } from '../../src/cli/claude-code-hook.ts'
import { openStore } from '../../src/store/open-store.ts'

const line = (n: number): string => {
  const uuid = (i: number): string => `0198a1b2-0000-4000-8000-00000000000${i}`
  const parentUuid = n === 0 ? null : uuid(n - 1)
  const message = { role: 'user', content: `message ${n}` }
  return `${JSON.stringify({ type: 'user', uuid: uuid(n), parentUuid, sessionId: 's', timestamp: '2026-01-01T00:00:00.000Z', message })}\n`
}

test('a hook imports what a transcript has gained, once, and never holds up the agent', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-hook-'))
  const store = await openStore('memory:')
  onTestFinished(async () => {
    await store.close()
    await rm(directory, { recursive: true })
  })
  const errors: unknown[] = []
  const hook = claudeCodeHook({ store, onError: (error) => errors.push(error) })
  const transcript_path = join(directory, 'transcript.jsonl')
  await writeFile(transcript_path, line(0))
  for (const n of [1, 2]) {
    expect(await hook({ hook_event_name: 'Stop', transcript_path })).toEqual({})
    await appendFile(transcript_path, line(n))
  }
  await hook({ hook_event_name: 'Stop', transcript_path })
  await hook({ hook_event_name: 'Stop', transcript_path })
  const [session, ...others] = (await store.list()).sessions
  expect({ count: session?.messageCount, others, errors }).toEqual({ count: 3, others: [], errors: [] })
  await hook({ hook_event_name: 'Stop', transcript_path: join(directory, 'missing.jsonl') })
  await hook({})
  expect(errors).toMatchObject([{ code: 'NOT_FOUND' }, { code: 'INVALID_ARGUMENT' }])
})
