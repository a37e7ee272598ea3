import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { Cli, ended, Lines } from './holdfast.ts'

async function prepareCommits(cli: Cli, ...sessions: string[]): Promise<void> {
  await cli.prepare(async (store) => {
    for (const id of sessions) {
      const session = store.session(id)
      await session.append({ role: 'user', content: `Please look at ${id}.` })
      await session.commit()
    }
  })
}

test('work --once does what is there to do, in every space, and ends', async () => {
  const cli = new Cli()
  await prepareCommits(cli, 'a', 'b')
  await cli.prepare(async (store) => {
    const session = store.in('elsewhere').session('c')
    await session.append({ role: 'user', content: 'Please look at c.' })
    await session.commit()
  })
  const done = await cli.json('work', '--once', '--concurrency', '1')
  expect(done.map(({ resource_id }) => resource_id).sort()).toEqual(['a', 'b', 'c'])
  expect(done[0]).toMatchObject({ task_type: 'session_commit', status: 'completed', attempts: 1, error: null })
  expect(await cli.run(['work', '--once'])).toEqual({ status: 0, stdout: '', stderr: '0 tasks completed, 0 failed.\n' })
  expect((await cli.failure(['work', '--concurrency', '0'])).status).toBe(2)
})

test('people read of each task on standard error', async () => {
  const cli = new Cli()
  await prepareCommits(cli, 'a')
  expect(await cli.run(['work', '--once'])).toEqual({
    status: 0,
    stdout: '',
    stderr: 'a, archive 1: completed: Please look at a.\n1 tasks completed, 0 failed.\n',
  })
})

test.each(['SIGINT', 'SIGTERM'] as const)('work goes on with what comes, and ends with 130 at %s', async (signal) => {
  const cli = new Cli()
  await prepareCommits(cli, 'a')
  const worker = cli.start('work', '--json')
  const lines = new Lines(worker)
  const end = ended(worker)
  await lines.until(1)
  await prepareCommits(cli, 'b')
  await lines.until(2)
  expect(lines.objects).toMatchObject([
    { resource_id: 'a', status: 'completed' },
    { resource_id: 'b', status: 'completed' },
  ])
  worker.kill(signal)
  expect(await end).toMatchObject({ status: 130, stderr: '' })
})

test('a worker killed in the middle of a task is followed by another one, which finishes it', async () => {
  const cli = new Cli()
  await prepareCommits(cli, 'a')
  // The command has no option for its lease, so a program that uses the library holds one that is short; and never comes to an end.
  const library = pathToFileURL(join(process.cwd(), 'dist', 'index.js')).href
  const program = `
    const { openStore, Worker } = await import(${JSON.stringify(library)})
    const model = { name: 'stuck', inputTokens: 1000, summarise: () => new Promise(() => console.log('asked')) }
    await new Worker(await openStore(process.argv[1]), { model, leaseMs: 1000 }).run()`
  const victim = spawn(process.execPath, ['--input-type=module', '-e', program, cli.store], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void victim.kill('SIGKILL'))
  await once(victim.stdout, 'data')
  expect(await cli.one('tasks', 'a')).toMatchObject({ status: 'running', stage: 'summarising', attempts: 1 })
  victim.kill('SIGKILL')
  expect(await cli.one('work', '--once')).toMatchObject({ resource_id: 'a', status: 'completed', attempts: 2 })
})
