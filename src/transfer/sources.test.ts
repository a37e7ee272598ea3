import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../store/open-store.ts'
import { importInto } from './import/import.ts'
import { sourcesAt } from './sources.ts'

test('what goes away while a folder is looked through is told, and holds up nothing else', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  for (const name of ['b', 'c']) mkdirSync(join(directory, name))
  for (const path of ['a.jsonl', 'b/gone.jsonl', 'c/kept.jsonl', 'd.jsonl'])
    writeFileSync(join(directory, path), `{"role":"user","content":"${path}"}\n`)
  const sources = async function* () {
    for await (const source of sourcesAt([directory])) {
      rmSync(join(directory, 'b'), { recursive: true, force: true })
      yield source
      rmSync(join(directory, 'd.jsonl'), { force: true })
    }
  }
  const store = await openStore('memory:')
  const told: Record<string, string> = {}
  for await (const { source, messages, note } of importInto(store, sources())) {
    told[source.slice(directory.length + 1)] = note ?? `${messages} messages`
  }
  const gone = expect.stringContaining('cannot be read')
  expect(told).toEqual({ 'a.jsonl': '1 messages', b: gone, 'c/kept.jsonl': '1 messages', 'd.jsonl': gone })
})
