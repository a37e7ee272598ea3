/** Every importer alone: a file of its format, or a tar archive of a directory, and what the fuzzer makes of that. */
import assert from 'node:assert/strict'
import { HoldfastError } from '../../../src/errors.ts'
import { Budget } from '../../../src/formats/budget.ts'
import { IMPORTERS } from '../../../src/formats/importers.ts'
import { itemsIn, type SourceFile } from '../../../src/formats/item.ts'
import { filesInTar } from '../../../src/formats/tar.ts'
import { digest } from '../../../src/formats/values.ts'
import { FIXTURES, fixtureBytes } from '../../transfer/fixtures.ts'
import type { Target } from '../target.ts'

export const targets: readonly Target[] = IMPORTERS.map(({ name }) => ({
  name,
  module: import.meta.url,
  seeds: FIXTURES.filter(({ format }) => format === name).map(fixtureBytes),
  fuzz: (data) => read(name, data),
}))

async function read(format: string, data: Buffer): Promise<void> {
  const importer = IMPORTERS.find(({ name }) => name === format)
  const fixture = FIXTURES.find((one) => one.format === format)
  assert.ok(importer !== undefined && fixture !== undefined)
  const { name } = fixture
  const announced = new Set<string>()
  try {
    const isDirectory = Object.keys(fixture.files).length > 1
    const files = isDirectory
      ? [...filesInTar(data, new Budget())].map(({ path, bytes }) => fileOf(path, bytes))
      : [fileOf(name.split('/').at(-1) ?? name, data)]
    if (files.length === 0) return
    for await (const item of itemsIn(importer, { name, files })) {
      if (item.kind === 'session') announced.add(item.session)
      else if (item.kind !== 'damage') assert.ok(announced.has(item.session), `${item.kind} of ${item.session}, which was not announced`)
      if (item.kind === 'message') {
        const { message, text, digest: sum, pieces } = item
        const written = pieces === undefined ? text : Buffer.concat(pieces).toString()
        if (written !== undefined) assert.equal(written, JSON.stringify(message))
        if (sum !== undefined) assert.equal(sum, digest(written as string))
      }
    }
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error
  }
}

function fileOf(path: string, bytes: Uint8Array): SourceFile {
  return {
    path,
    size: bytes.length,
    read: async function* () {
      for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000)
    },
  }
}
