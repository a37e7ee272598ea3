/** The formats that can be imported, and which of them a source is. */
import { claudeCode } from './formats/claude-code.ts'
import { codex } from './formats/codex.ts'
import { geminiCli } from './formats/gemini-cli.ts'
import { holdfast } from './formats/holdfast.ts'
import { nanobot } from './formats/nanobot.ts'
import { openAiChat } from './formats/openai.ts'
import { opencode } from './formats/opencode.ts'
import { openViking } from './formats/openviking.ts'
import { pi } from './formats/pi.ts'
import { praisonAi } from './formats/praisonai.ts'
import type { Importer, Source } from './item.ts'

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

/** So much of a file tells what it is. */
const HEAD_BYTES = 64 * 1024

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
  let length = 0
  for await (const chunk of file.read()) {
    parts.push(chunk)
    length += chunk.length
    if (length >= HEAD_BYTES) break
  }
  return Buffer.concat(parts).subarray(0, HEAD_BYTES).toString('utf8')
}
