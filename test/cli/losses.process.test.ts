/** What the command line says and does about sessions that lost bytes, and about those that did not. On the real disk. */
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { journalName } from '../../src/engine/names.ts'
import { Cli, objectsIn } from './holdfast.ts'

function folder(cli: Cli, id: string, space = 'default'): string {
  return join(cli.store, 'sessions', journalName(space, id))
}

function firstFile(cli: Cli, id: string, space?: string): string {
  const [name] = readdirSync(folder(cli, id, space)).filter((file) => file.endsWith('.jsonl'))
  return join(folder(cli, id, space), name as string)
}

/** A byte of one message changes, so its line cannot be read. Nothing vanishes. */
async function flipped(cli: Cli, id: string): Promise<void> {
  for (const message of ['m1', 'm2', 'm3']) await cli.prepareMessages(id, message)
  const bytes = readFileSync(firstFile(cli, id))
  bytes[bytes.indexOf('"content":"m2"') + 12] = 0x58
  writeFileSync(firstFile(cli, id), bytes)
}

/** The journal ends in the middle of its last line. */
async function cut(cli: Cli, id: string): Promise<void> {
  for (const message of ['m1', 'm2']) await cli.prepareMessages(id, message)
  truncateSync(firstFile(cli, id), readFileSync(firstFile(cli, id)).length - 40)
}

test('accept-damage of a whole session says that nothing was accepted, and why', async () => {
  const cli = new Cli()
  await cli.prepareMessages('healthy', 'm1')
  const { status, stdout, stderr } = await cli.run(['accept-damage', 'healthy'])
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: 'Nothing was accepted: nothing of "healthy" is lost.\n' })
  expect(await cli.one('accept-damage', 'healthy')).toMatchObject({ session_id: 'healthy', duplicate: true, accepted: [] })
})

test('accept-damage of a session with a rotten line accepts it, and keeps its bytes in the quarantine', async () => {
  const cli = new Cli()
  await flipped(cli, 'flip')
  const { status, stdout, stderr } = await cli.run(['accept-damage', 'flip'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '"flip" continues. Reads report the damage as accepted.\n' })
  expect(stdout).toMatch(/^position \d+: 1 message \(rotten\), after .*\n$/)
  expect((await cli.json('doctor', 'flip')).map(({ kind }) => kind)).toEqual(['acknowledged', undefined])
  expect((await cli.run(['export', 'quarantine:default', '--space', '_store'])).stdout).toContain('"kind":"rotten"')
  expect((await cli.run(['accept-damage', 'flip'])).stderr).toBe('The damage of "flip" was accepted before.\n')
  expect(await cli.one('accept-damage', 'flip')).toMatchObject({ duplicate: true, accepted: [{ count: 1, accepted: true }] })
})

test('after accept-damage of zeros over several lines, one of which a watermark covers, the doctor has notes only', async () => {
  const cli = new Cli()
  for (let i = 1; i <= 8; i++) await cli.prepareMessages('blank', `m${i}`)
  const bytes = readFileSync(firstFile(cli, 'blank'))
  const from = bytes.indexOf('"content":"m4"')
  // The first half of the lines, and then those up to the end of the file, which a watermark covers.
  bytes.fill(0, from, bytes.indexOf('"content":"m7"'))
  bytes.fill(0, bytes.lastIndexOf('"content":"m8"'))
  writeFileSync(firstFile(cli, 'blank'), bytes)
  const found = await cli.run(['doctor', 'blank'])
  expect(found).toMatchObject({ status: 5, stdout: expect.stringContaining('damage: vanished') })
  expect((await cli.run(['append', 'blank', 'more'])).status).toBe(1)
  expect((await cli.run(['accept-damage', 'blank'])).stderr).toBe('"blank" continues. Reads report the damage as accepted.\n')
  const after = await cli.run(['doctor', 'blank'])
  expect(after).toMatchObject({ status: 0, stderr: expect.stringContaining('0 damaged places') })
  expect((await cli.run(['append', 'blank', 'more'])).status).toBe(0)
  expect((await cli.run(['doctor', 'blank'])).status).toBe(0)
})

test('accept-damage says that a loss was accepted before if it was', async () => {
  const cli = new Cli()
  await cut(cli, 'half')
  expect((await cli.run(['accept-damage', 'half'])).stderr).toContain('"half" continues.')
  const { status, stdout, stderr } = await cli.run(['accept-damage', 'half'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: 'The damage of "half" was accepted before.\n' })
  expect(stdout).toMatch(/^position \d+: .*\n$/)
})

test.each([
  ['journal file', (cli: Cli) => rmSync(firstFile(cli, 'gone'))],
  ['directory', (cli: Cli) => rmSync(folder(cli, 'gone'), { recursive: true })],
])('doctor <id> --repair accepts the loss of a session whose %s was deleted', async (_, harm) => {
  const cli = new Cli()
  await cli.prepareMessages('gone', 'm1')
  harm(cli)
  const { status, stderr } = await cli.run(['doctor', 'gone', '--repair'])
  expect(stderr).toContain('1 damaged place accepted, 0 left.')
  expect(status).toBe(0)
  expect((await cli.run(['append', 'gone', 'more'])).status).toBe(0)
  expect((await cli.json('doctor', 'gone')).map(({ kind }) => kind)).toEqual(['acknowledged', undefined])
})

test('doctor --repair announces each loss that it accepts, in every space', async () => {
  const cli = new Cli()
  await cut(cli, 'half')
  await cli.prepareMessages('gone', 'm1')
  await cli.prepare(async (store) => {
    for (const id of ['a', 'b']) await store.in('team').session(id).append({ role: 'user', content: 'x' })
  })
  rmSync(folder(cli, 'gone'), { recursive: true })
  for (const file of readdirSync(folder(cli, 'a', 'team'))) rmSync(join(folder(cli, 'a', 'team'), file))
  const { status, stderr } = await cli.run(['doctor', '--repair'])
  expect(stderr).toMatch(/^Will accept that \d+ bytes of "half" vanished at position \d+, and let it continue without them\.$/m)
  expect(stderr).toMatch(/^Will accept that \d+ bytes of "gone" vanished at position 0, /m)
  expect(stderr).toMatch(/^Will accept that \d+ bytes of "a" vanished at position 0, /m)
  expect(stderr).toContain('3 damaged places accepted, 0 left.')
  expect(status).toBe(0)
  expect((await cli.run(['--space', 'team', 'append', 'a', 'more'])).status).toBe(0)
})

test('doctor --repair says why it leaves the loss of a session whose id nothing says', async () => {
  const cli = new Cli()
  await cli.prepareMessages('An Id That Is Not Plain', 'm1')
  rmSync(folder(cli, 'An Id That Is Not Plain'), { recursive: true })
  const { status, stderr } = await cli.run(['doctor', '--repair'])
  expect(status).toBe(5)
  expect(stderr).not.toContain('Will accept')
  expect(stderr).toContain('Nothing that is left says which session this is. Run `holdfast doctor <id> --repair` with its id.')
  const named = await cli.run(['doctor', 'An Id That Is Not Plain', '--repair'])
  expect(named.status).toBe(0)
  expect(named.stdout).toContain("`holdfast accept-damage 'An Id That Is Not Plain'`")
})

test('doctor --repair leaves swapped journals as they are, also with a rotten line in them', async () => {
  const cli = new Cli()
  await flipped(cli, 'a')
  await cli.prepareMessages('b', 'm1')
  const [a, b] = [readFileSync(firstFile(cli, 'a')), readFileSync(firstFile(cli, 'b'))]
  writeFileSync(firstFile(cli, 'a'), b)
  writeFileSync(firstFile(cli, 'b'), a)
  const { status, stderr } = await cli.run(['doctor', '--repair'])
  expect(status).toBe(5)
  expect(stderr).not.toContain('Will ')
  expect(stderr).toContain('of "b". Its files belong to another session. Move them back to where they came from.')
  expect(readFileSync(firstFile(cli, 'b')).equals(a)).toBe(true)
})

test('archives, tree and show warn of damage, and none of them says that no message is missing', async () => {
  const cli = new Cli()
  await flipped(cli, 'flip')
  const unknown = 'warning: messages may be missing at 1 place (rotten) in "flip". Run `holdfast doctor flip` to see what to do.\n'
  expect((await cli.run(['--quiet', 'archives', 'flip'])).stderr).toBe(unknown)
  expect((await cli.run(['tree', 'flip'])).stderr).toBe(unknown)
  expect((await cli.run(['show', 'flip'])).stderr).toContain('1 message is missing at 1 place (rotten) in "flip"')
  await cli.prepareMessages('whole', 'm1')
  expect(await cli.run(['archives', 'whole'])).toMatchObject({ status: 0, stderr: '"whole" has no archives.\n' })
})

test('doctor counts one place and one session in the singular', async () => {
  const cli = new Cli()
  await cut(cli, 'half')
  expect((await cli.run(['doctor', 'half'])).stderr).toBe('1 session verified: 1 damaged place, 0 notes.\n')
})

test('an acknowledged finding does not say that its session no longer exists', async () => {
  const cli = new Cli()
  await flipped(cli, 'flip')
  await cli.run(['doctor', '--repair'])
  const findings = objectsIn((await cli.run(['--json', 'doctor', 'flip'])).stdout).filter(({ kind }) => kind === 'acknowledged')
  expect(findings).toHaveLength(1)
  for (const { action } of findings) expect(action).toBe('A person has reviewed and accepted this damage: nothing needs to be done.')
})
