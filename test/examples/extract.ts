/**
 * Finds the examples in a document that can be executed:
 *
 *   - a block fenced as `ts` that imports from 'holdfast' or 'holdfast/…'
 *   - a block fenced as `sh`, `bash` or `console` that begins with `$ holdfast`, `npx holdfast` or `$ npx holdfast`. If lines begin
 *     with `$ `, those are the commands and the rest is what they print; otherwise every line is a command.
 *
 * An example that cannot be executed says why behind the language: ```ts not run: needs a PostgreSQL server
 */
export interface Example {
  /** Where the block begins, as `docs/guide.md:12`. */
  readonly place: string
  readonly kind: 'module' | 'shell'
  readonly text: string
  /** Why it is not executed; undefined if it is. */
  readonly notRun: string | undefined
}

const FENCE = /^(?<indent> *)(?<fence>`{3,})(?<info>[^\n`]*)\n(?<body>[\s\S]*?)\n? *\k<fence>[ \t]*$/gm
const INFO = /^(?<language>\w+)(?:\s+not run: (?<reason>\S.*))?$/
const IMPORTS_HOLDFAST = /\bfrom\s+['"]holdfast(?:\/[^'"]*)?['"]|\bimport\s*\(?\s*['"]holdfast(?:\/[^'"]*)?['"]/
const CALLS_HOLDFAST = /^(?:\$ holdfast|npx holdfast|\$ npx holdfast)\b/

export function extractExamples(path: string, markdown: string): Example[] {
  return [...markdown.matchAll(FENCE)].flatMap((match) => {
    const { indent = '', info = '', body = '' } = match.groups ?? {}
    const place = `${path}:${markdown.slice(0, match.index).split('\n').length}`
    const text = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
    const kind = kindOf(info.trim().split(/\s/)[0] ?? '', text)
    if (kind === undefined) return []
    const parsed = INFO.exec(info.trim())
    if (parsed === null) throw new Error(`${place}: "${info}" is neither a language nor "<language> not run: <reason>"`)
    return [{ place, kind, text: kind === 'shell' ? commandsOf(text) : text, notRun: parsed.groups?.reason }]
  })
}

function kindOf(language: string, text: string): Example['kind'] | undefined {
  if (language === 'ts' && IMPORTS_HOLDFAST.test(text)) return 'module'
  if (['sh', 'bash', 'console'].includes(language) && CALLS_HOLDFAST.test(text)) return 'shell'
  return undefined
}

function commandsOf(text: string): string {
  const lines = text.split('\n')
  const prompted = lines.filter((line) => line.startsWith('$ '))
  return prompted.length === 0 ? text : prompted.map((line) => line.slice(2)).join('\n')
}
