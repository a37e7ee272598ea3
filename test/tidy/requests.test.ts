import { expect, test } from 'vitest'
import { readSources, type SourceFile } from './sources.ts'

/** Calls of `fetch`, and modules of Node that open connections, unless for their types alone. */
const OUTGOING = /(?<![.\w`])fetch\(|globalThis\.fetch|^import (?!type)[^\n]*'node:(?:https?|http2|net|tls|dgram|dns)'/m

/** Where requests come from: the model of the operator, and the client, which a server does not use. */
const MAY = ['src/commit/models/openai.ts', 'src/client/transport.ts']

function requesting(files: readonly SourceFile[]): string[] {
  return files.filter(({ path, text }) => !path.endsWith('.test.ts') && OUTGOING.test(text)).map(({ path }) => path)
}

test('nothing but the model of the operator, and the client, sends requests: no caller can have a server fetch an address', () => {
  expect(requesting(readSources('src', ['.ts'])).sort()).toEqual([...MAY].sort())
})

test.each(['const answer = await fetch(body.url)', "import { request } from 'node:https'", "import net from 'node:net'"])(
  'a server that says %s is found',
  (text) => {
    expect(requesting([{ path: 'src/server/routes/new.ts', text }])).toHaveLength(1)
  },
)
