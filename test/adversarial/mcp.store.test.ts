import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { expect, onTestFinished, test } from 'vitest'
import { makeMcpServer } from '../../src/adapters/mcp/server.ts'
import { openStore } from '../../src/store/open-store.ts'
import { allTooSlow, type EntryPoint } from './entry-points.ts'
import { createSubject, WORD } from './subject.ts'

const ID_LENGTHS = [40, 1500]
const LENGTHS = [40, 4000]

/** Values of arguments that are required; any other required text is `x`. */
const REQUIRED: Readonly<Record<string, string>> = { session_id: 'talk', query: WORD }

async function openClient(): Promise<Client> {
  const store = await openStore('memory:', { redact: true })
  await createSubject(store, 'talk', 'x')
  const server = makeMcpServer(store, { version: '0.0.0', allowWrite: true, live: true })
  const client = new Client({ name: 'test', version: '0' })
  const [here, there] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(there), client.connect(here)])
  onTestFinished(async () => {
    await client.close()
    await store.close()
  })
  return client
}

function required(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, REQUIRED[name] ?? 'x']))
}

/** A refusal is an answer. */
async function answered(call: () => Promise<unknown>): Promise<void> {
  await call().catch(() => undefined)
}

interface ArgumentSchema {
  readonly type?: string
}

test('every argument of every MCP tool takes time in proportion to its text', async () => {
  const client = await openClient()
  const { tools } = await client.listTools()
  const entryPoints = tools.flatMap(({ name, inputSchema }) => {
    const properties = Object.entries((inputSchema.properties ?? {}) as Readonly<Record<string, ArgumentSchema>>)
    const texts = [
      ...properties.filter(([, { type }]) => type !== 'integer' && type !== 'number' && type !== 'boolean'),
      ['unknown', {}] as const,
    ]
    return texts.map(([argument]): EntryPoint => {
      const others = required((inputSchema.required ?? []).filter((other) => other !== argument))
      return {
        name: `MCP tool ${name}, argument ${argument}`,
        lengths: LENGTHS,
        prepare: (text) => () => answered(() => client.callTool({ name, arguments: { ...others, [argument]: text } })),
      }
    })
  })
  expect(entryPoints.length).toBeGreaterThan(tools.length)
  expect(await allTooSlow(entryPoints)).toEqual([])
})

test('every argument of every MCP prompt takes time in proportion to its text', async () => {
  const client = await openClient()
  const { prompts } = await client.listPrompts()
  const entryPoints = prompts.flatMap(({ name, arguments: words = [] }) =>
    words.flatMap(({ name: argument }): EntryPoint[] => {
      const others = required(words.filter((other) => other.required === true && other.name !== argument).map((other) => other.name))
      const ref = { type: 'ref/prompt' as const, name }
      return [
        {
          name: `MCP prompt ${name}, argument ${argument}`,
          lengths: ID_LENGTHS,
          prepare: (text) => () => answered(() => client.getPrompt({ name, arguments: { ...others, [argument]: text } })),
        },
        {
          name: `MCP completion of prompt ${name}, argument ${argument}`,
          lengths: ID_LENGTHS,
          prepare: (text) => () => answered(() => client.complete({ ref, argument: { name: argument, value: text } })),
        },
      ]
    }),
  )
  expect(entryPoints.length).toBeGreaterThan(0)
  expect(await allTooSlow(entryPoints)).toEqual([])
})

test('every MCP resource takes time in proportion to its address', async () => {
  const client = await openClient()
  const { resourceTemplates } = await client.listResourceTemplates()
  const entryPoints = resourceTemplates.flatMap(({ name, uriTemplate }): EntryPoint[] => {
    const uriOf = (text: string): string => uriTemplate.replace(/\{\w+\}/, () => text)
    const ref = { type: 'ref/resource' as const, uri: uriTemplate }
    const complete = (value: string) => answered(() => client.complete({ ref, argument: { name: 'id', value } }))
    const encoded = (text: string): string => uriOf(encodeURIComponent(text.toWellFormed()))
    return [
      {
        name: `MCP resource ${name}, plain`,
        lengths: ID_LENGTHS,
        prepare: (text) => () => answered(() => client.readResource({ uri: uriOf(text) })),
      },
      {
        name: `MCP resource ${name}, encoded`,
        lengths: ID_LENGTHS,
        prepare: (text) => () => answered(() => client.readResource({ uri: encoded(text) })),
      },
      {
        name: `MCP subscription to ${name}`,
        lengths: ID_LENGTHS,
        prepare: (text) => () => answered(() => client.subscribeResource({ uri: encoded(text) })),
      },
      { name: `MCP completion of resource ${name}`, lengths: ID_LENGTHS, prepare: (text) => () => complete(text) },
    ]
  })
  expect(entryPoints.length).toBeGreaterThan(0)
  expect(await allTooSlow(entryPoints)).toEqual([])
})
