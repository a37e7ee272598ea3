import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { Cli } from './holdfast.ts'

test.each(['bash', 'zsh', 'fish'])('the completion script for %s has every command, and the shell can read it', async (shell) => {
  const cli = new Cli()
  const { status, stdout, stderr } = await cli.run(['completion', shell])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  for (const { name, options = [] } of COMMANDS) {
    expect(stdout).toContain(name)
    for (const { flags } of options) expect(stdout).toContain(flags.split(' ')[0]?.slice(2))
  }
  const script = join(cli.directory, 'script')
  writeFileSync(script, stdout)
  const read = spawnSync(shell, ['-n', script], { encoding: 'utf8' })
  // A shell that is not installed cannot be asked; bash is everywhere that these tests run.
  if (shell === 'bash' || read.error === undefined) expect(read).toMatchObject({ status: 0, stderr: '' })
})

test('in bash it completes commands, options, their values, and files', async () => {
  const cli = new Cli()
  const { stdout } = await cli.run(['completion', 'bash'])
  writeFileSync(join(cli.directory, 'messages.jsonl'), '')
  const complete = (...words: string[]): string[] => {
    const quoted = ['holdfast', ...words].map((word) => `'${word}'`).join(' ')
    const ask = `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`
    const shell = spawnSync('bash', ['-c', `${stdout}\n${ask}`], { encoding: 'utf8', cwd: cli.directory })
    expect(shell).toMatchObject({ status: 0, stderr: '' })
    return shell.stdout.split('\n').filter((word) => word !== '')
  }
  expect(complete('sha')).toEqual(['share', 'shares'])
  expect(complete('--store', '/somewhere', 'lis')).toEqual(['list'])
  expect(complete('list', '--ord')).toEqual(['--order'])
  expect(complete('list', '--order', '')).toEqual(['updated', 'created', 'title'])
  expect(complete('completion', 'f')).toEqual(['fish'])
  expect(complete('append', 'a', '--jsonl', 'mess')).toEqual(['messages.jsonl'])
  expect(complete('show', 'a', '--before', '')).toEqual([])
  expect(complete('help', 'und')).toEqual(['undo'])
})
