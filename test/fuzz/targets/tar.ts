/** Tar archives: no more comes out than went in, and only the budget refuses. */
import assert from 'node:assert/strict'
import { HoldfastError } from '../../../src/errors.ts'
import { Budget } from '../../../src/formats/budget.ts'
import { filesInTar, tarOf } from '../../../src/formats/tar.ts'
import type { Target } from '../target.ts'

const file = (path: string, text: string): { path: string; bytes: Buffer } => ({ path, bytes: Buffer.from(text) })

const tar: Target = {
  name: 'tar',
  module: import.meta.url,
  seeds: [tarOf([file('a/b.jsonl', '{}\n'), file('c', '')]), tarOf([file(`${'long/'.repeat(30)}ä`, 'x')])],
  fuzz,
}

function fuzz(data: Buffer): void {
  const budget = new Budget({ files: 100, depth: 8, path: 256 })
  try {
    let length = 0
    for (const { path, bytes } of filesInTar(data, budget)) {
      assert.ok(path.length <= 256 && path.split('/').length <= 9, path)
      assert.ok(!path.split('/').some((part) => part === '..' || part === ''), path)
      length += bytes.length
    }
    assert.ok(length <= data.length)
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'PAYLOAD_TOO_LARGE')) throw error
  }
}

export const targets: readonly Target[] = [tar]
