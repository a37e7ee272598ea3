import { describe, expect, test } from 'vitest'
import { readDocuments } from '../tidy/sources.ts'
import { execute } from './execute.ts'
import { type Example, extractExamples } from './extract.ts'

const documents = readDocuments().filter(({ path }) => path === 'README.md' || path.startsWith('docs/'))
const examples = documents.flatMap(({ path, text }) => extractExamples(path, text))

for (const example of examples) {
  test(`the example in ${example.place} runs`, async (context) => {
    context.skip(example.notRun !== undefined, example.notRun)
    const { status, output } = await execute(example)
    expect(status, output).toBe(0)
  })
}

function only(markdown: string): Example {
  const [example, ...others] = extractExamples('sample.md', markdown)
  if (example === undefined || others.length > 0) throw new Error('the sample must hold one example')
  return example
}

describe('what runs the examples', () => {
  test('runs a module inside the package, with its types stripped', async () => {
    const markdown = [
      '```ts',
      "import type { HoldfastError } from 'holdfast'",
      "const place: string = import.meta.resolve('holdfast/package.json')",
      'const errors: HoldfastError[] = []',
      'console.log(errors.length, place)',
      '```',
    ].join('\n')
    const { status, output } = await execute(only(markdown))
    expect({ status, output }).toEqual({ status: 0, output: expect.stringMatching(/^0 file:.*package\.json\n$/) })
  })

  test.each([
    ['throws', "import type { A } from 'holdfast'\nthrow new Error('broken example')", 'broken example'],
    ['leaves a timer behind', "import 'holdfast'\nsetTimeout(() => undefined, 10)", '1 timers keep this program running'],
    ['imports what is not exported', "import { a } from 'holdfast/no-such-door'", 'no-such-door'],
  ])('reports a module that %s', async (_, code, complaint) => {
    const { status, output } = await execute(only(`\`\`\`ts\n${code}\n\`\`\``))
    expect(status).toBe(1)
    expect(output).toContain(complaint)
  })

  test('refuses a module that is no TypeScript', async () => {
    await expect(execute(only("```ts\nimport { a } from 'holdfast'\nconst = 1\n```"))).rejects.toThrow(SyntaxError)
  })

  test.each([
    '```sh\nnpx holdfast --version\n```',
    '```console\n$ holdfast --version\n0.0.0 and more that is output, not a command\n$ test ! -e "$HOLDFAST_STORE"\n```',
    '1. In a list:\n   ```bash\n   $ npx holdfast --help\n   ```',
  ])('runs a shell block: %s', async (markdown) => {
    const { status, output } = await execute(only(markdown))
    expect(status, output).toBe(0)
  })

  test.each([
    '```sh\nnpx holdfast no-such-command\nnpx holdfast --version\n```',
    '```console\n$ holdfast no-such-command | cat\n```',
    '```console\n$ holdfast --version\n$ npx elsewhere\n```',
  ])('reports a shell block that fails: %s', async (markdown) => {
    expect((await execute(only(markdown))).status).not.toBe(0)
  })

  test('leaves other blocks alone', () => {
    const markdown = "```ts\nimport { x } from 'elsewhere'\n```\n```sh\nnpm ci\n```\n```json\n{}\n```\n"
    expect(extractExamples('sample.md', markdown)).toEqual([])
  })

  test('knows where a block begins and why it is not run', () => {
    const markdown = "# Title\n\n```ts not run: needs a server\nimport { x } from 'holdfast'\n```\n\n```sh\nnpx holdfast --help\n```\n"
    expect(extractExamples('sample.md', markdown)).toMatchObject([
      { place: 'sample.md:3', kind: 'module', notRun: 'needs a server' },
      { place: 'sample.md:7', kind: 'shell', notRun: undefined },
    ])
  })

  test('does not take an unknown remark for a reason', () => {
    expect(() => extractExamples('sample.md', "```ts skip\nimport { x } from 'holdfast'\n```")).toThrow('not run: <reason>')
  })
})
