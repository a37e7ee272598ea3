/** A process that erases a message is killed for good, at each of its writes, syncs and renames: by the system, and not by a disk that pretends. */
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { type OpenOptions, openStore } from '../../src/store/open-store.ts'
import { tracesOf } from '../erase/traces.ts'
import { runs, start, step } from '../long.ts'
import { requirePlatform } from '../platform.ts'
import { Child } from '../processes/children.ts'

const SECRET = 'Quagmire-4711 lives in Xanadu'
const CALLS = ['write', 'pwrite64', 'fdatasync', 'fsync', 'rename', 'unlink']
/** Of the calls of a kind: killed at every so manieth. */
const EVERY = step(9)
const strace = requirePlatform('strace')

async function prepare(path: string, options: OpenOptions): Promise<void> {
  const store = await openStore(path, { limits: { segmentBytes: 1500 }, ...options })
  const session = store.session('s')
  await session.append([
    { id: 'a', role: 'user', content: 'first' },
    { id: 'm', role: 'user', content: SECRET },
    { id: 'z', role: 'user', content: 'last' },
  ])
  const fork = await session.fork({ id: 'f' })
  await fork.append({ role: 'user', content: 'on its own' })
  for (let i = 0; i < 4; i++) await session.append({ role: 'user', content: `after ${i} ${'y'.repeat(300)}` })
  await session.replace('m', { role: 'user', content: `${SECRET}, they say` })
  await store.close()
}

/** What is left when a process was killed: all of the message, or nothing, and never half. */
async function look(path: string, options: OpenOptions): Promise<'there' | 'gone'> {
  const store = await openStore(path, { ...options, brief: true })
  try {
    const session = store.session('s')
    const content = (await session.message('m'))?.message.content
    const found: string[] = []
    for await (const { kind, severity } of doctor(store)) if (severity === 'damage') found.push(kind)
    expect(found).toEqual([])
    expect((await session.message('z'))?.message.content).toBe('last')
    if (content === `${SECRET}, they say`) return 'there'
    expect(content).toBe('[erased]')
    expect((await store.session('f').message('m'))?.message.content).toBe('[erased]')
    expect(tracesOf(path, SECRET, 'Quagmire')).toEqual([])
    return 'gone'
  } finally {
    await store.close()
  }
}

const masterKey = '11'.repeat(32)

describe.each([
  ['in clear', {}],
  ['encrypted', { masterKey }],
])('of a store %s', (_, key) => {
  test.skipIf(!strace.available)(
    'killed at any call, it has not happened, or whoever opens the session next brings it to its end',
    async () => {
      const root = mkdtempSync(join(tmpdir(), 'holdfast-killed-erasure-'))
      onTestFinished(() => rmSync(root, { recursive: true }))
      const options: OpenOptions = 'masterKey' in key ? { encryption: { masterKey } } : {}
      const original = join(root, 'original')
      await prepare(original, options)
      const outcomes = { there: 0, gone: 0 }
      for (const call of CALLS) {
        for (let when = 1 + start(EVERY); when < 60; when += EVERY) {
          const path = join(root, `${call}-${when}`)
          cpSync(original, path, { recursive: true })
          const output = join(root, 'trace')
          const under = ['strace', '-f', '-o', output, '-e', `trace=${call}`, '-e', `inject=${call}:signal=KILL:when=${when}`]
          const erasing = { directory: path, session: 's', message: 'm', ...key }
          await new Child('eraser', erasing, { under, env: { UV_THREADPOOL_SIZE: '1' } }).finish()
          const wasKilled = readFileSync(output, 'utf8').includes('killed by SIGKILL')
          const outcome = await look(path, options)
          rmSync(path, { recursive: true })
          if (!wasKilled) {
            expect(outcome).toBe('gone')
            break
          }
          outcomes[outcome]++
        }
      }
      expect(outcomes.there).toBeGreaterThan(0)
      expect(outcomes.gone).toBeGreaterThan(runs(0, 5))
    },
  )
})
