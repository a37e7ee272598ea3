import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { append } from '../../src/cli/append.ts'
import { Context } from '../../src/cli/context.ts'
import { mcp } from '../../src/cli/mcp.ts'
import { Output } from '../../src/cli/output.ts'
import { tooSlow } from './entry-points.ts'
import { DIFFERENT_WORDS, type Family } from './texts.ts'

const LENGTHS = [5000]
/** Opening and closing a store on a disk takes some tens of milliseconds. */
const FLOOR_MS = 100
/** A pipe delivers pieces of this size. */
const CHUNK_BYTES = 64 * 1024

/** The modules that read standard input, each with the commands that do, and how a text gets there. */
const READERS: Readonly<Record<string, Readonly<Record<string, Reader>>>> = {
  'cli/append.ts': {
    'append, a text': { run: (context) => append(context, ['talk'], { role: 'user' }), input: (text) => text },
  },
  'cli/append-stream.ts': {
    'append --jsonl, lines as they are': { run: appendLines, input: (text) => text },
    'append --jsonl, a text': { run: appendLines, input: (text) => `${JSON.stringify(text)}\n` },
    'append --jsonl, a message': { run: appendLines, input: (text) => `${JSON.stringify({ role: 'user', content: text })}\n` },
    'append --jsonl, many messages': {
      run: appendLines,
      input: (text) => text.replace(/.{1,200}/gsu, (part) => `${JSON.stringify(part)}\n`),
      families: DIFFERENT_WORDS,
    },
  },
  'adapters/mcp/connect.ts': {
    'mcp, lines as they are': { run: serve, input: (text) => text },
    'mcp, an argument': { run: serve, input: (text) => requestOf(text) },
    'mcp, a name': { run: serve, input: (text) => requestOf('x', text) },
  },
}

interface Reader {
  run(context: Context): Promise<void>
  input(text: string): string
  readonly families?: readonly Family[]
}

function appendLines(context: Context): Promise<void> {
  return append(context, ['talk'], { role: 'user', jsonl: '-' })
}

function serve(context: Context): Promise<void> {
  return mcp(context, [], { allowWrite: true })
}

function requestOf(content: string, name = 'append_message'): string {
  const [jsonrpc, protocolVersion] = ['2.0', '2025-06-18']
  const clientInfo = { name: 'test', version: '0' }
  const lines = [
    { jsonrpc, id: 1, method: 'initialize', params: { protocolVersion, capabilities: {}, clientInfo } },
    { jsonrpc, method: 'notifications/initialized' },
    { jsonrpc, id: 2, method: 'tools/call', params: { name, arguments: { session_id: 'talk', content } } },
  ]
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** Runs a command with this input, and drops what it prints. A refusal is an answer. */
async function runWith(directory: string, input: Buffer, run: Reader['run']): Promise<void> {
  const real = Object.getOwnPropertyDescriptors(process)
  const chunks = Array.from({ length: Math.ceil(input.length / CHUNK_BYTES) }, (_, i) =>
    input.subarray(i * CHUNK_BYTES, (i + 1) * CHUNK_BYTES),
  )
  const dropped = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() })
  Object.defineProperty(process, 'stdin', { value: Readable.from(chunks, { objectMode: false }), configurable: true })
  for (const name of ['stdout', 'stderr']) Object.defineProperty(process, name, { value: dropped(), configurable: true })
  const out = new Output({ json: true, quiet: true, onGone: () => undefined })
  const context = new Context(out, new AbortController().signal, { store: directory })
  try {
    await run(context).catch((error: unknown) => out.fail(error))
    await context.close()
  } finally {
    for (const name of ['stdin', 'stdout', 'stderr'] as const) Object.defineProperty(process, name, real[name] as PropertyDescriptor)
  }
}

test('every module that reads standard input is measured', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'),
  )
  const reading = files.filter((path) => /process\.stdin|\{[^}]*\bstdin\b[^}]*\} = process/.test(readFileSync(join('src', path), 'utf8')))
  expect(reading.sort()).toEqual(Object.keys(READERS).sort())
})

test.each(Object.values(READERS).flatMap((readers) => Object.entries(readers)))(
  'holdfast %s takes time in proportion to its input',
  async (name, { run, input, families }) => {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-stdin-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const found = await tooSlow({
      name,
      lengths: LENGTHS,
      floorMs: FLOOR_MS,
      ...(families === undefined ? {} : { families }),
      prepare: (text) => {
        const bytes = Buffer.from(input(text))
        return () => runWith(directory, bytes, run)
      },
    })
    expect(found).toEqual([])
  },
)
