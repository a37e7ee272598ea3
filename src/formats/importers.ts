/** The formats that can be imported, and which of them a source is. */
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { geminiCli } from './gemini-cli.ts'
import { holdfast } from './holdfast.ts'
import type { Importer, Source } from './item.ts'
import { nanobot } from './nanobot.ts'
import { openAiChat } from './openai.ts'
import { opencode } from './opencode.ts'
import { openViking } from './openviking.ts'
import { pi } from './pi.ts'
import { praisonAi } from './praisonai.ts'

/** In the order in which they are asked: the ones that can be told for certain come first. */
export const IMPORTERS: readonly Importer[] = [
  holdfast,
  openViking,
  claudeCode,
  codex,
  pi,
  geminiCli,
  opencode,
  praisonAi,
  nanobot,
  openAiChat,
]

/** So much of a file tells what it is; of one whose first line is longer, all of that line, up to a limit: instructions and pictures stand there too. */
const HEAD_BYTES = 64 * 1024
const LINE_BYTES = 8 * 1024 * 1024
const NEWLINE = 0x0a

/** The importer for a source; undefined if none knows it. */
export async function detect(source: Source, importers: readonly Importer[]): Promise<Importer | undefined> {
  const heads = new Map<string, string>()
  const [first, ...more] = source.files
  // A directory is known by its names.
  if (first !== undefined && more.length === 0) heads.set(first.path, await headOf(first))
  return importers.find((importer) => importer.recognises(source, heads))
}

async function headOf(file: Source['files'][number]): Promise<string> {
  const parts: Uint8Array[] = []
  let [length, lineEnd] = [0, -1]
  for await (const chunk of file.read()) {
    // Copied: whoever reads may use its memory for the next chunk.
    parts.push(Buffer.from(chunk))
    const found = lineEnd === -1 ? chunk.indexOf(NEWLINE) : -1
    if (found !== -1) lineEnd = length + found
    length += chunk.length
    if (length >= (lineEnd === -1 ? LINE_BYTES : HEAD_BYTES)) break
  }
  return Buffer.concat(parts)
    .subarray(0, Math.max(HEAD_BYTES, lineEnd === -1 ? LINE_BYTES : lineEnd))
    .toString('utf8')
}
