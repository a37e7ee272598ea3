/** The line decoder. It gets bytes as they are, and once more as an intact line: no random text has the right checksum. */
import assert from 'node:assert/strict'
import { HoldfastError } from '../../../src/errors.ts'
import { encodeWithCrc, readLine, splitLines } from '../../../src/record/line.ts'
import type { Target } from '../target.ts'

const line: Target = {
  name: 'line',
  module: import.meta.url,
  seeds: [
    '{"v":2,"id":"i","at":"2026-03-01T10:00:00.000Z","type":"messages.appended","messages":[{"role":"user","content":"a"}],"n":0,"t":0,"tokens":8,"prev":"3c4d5640","pos":360}',
    '{"v":2,"id":"i","at":"2026-03-01T10:00:00.000Z","type":"checkpoint","base":2,"state":{},"prev":"3c4d5640"}',
    '{"v":3,"id":"","type":"","at":"","pos":0}\n{"v":1}',
  ].map((text) => Buffer.from(text)),
  fuzz,
}

function fuzz(data: Buffer): void {
  for (const read of splitLines(Buffer.concat([data, Buffer.from('\n')]), 0).lines) decode(read.bytes)
  const json = data.toString()
  if (json.endsWith('}')) decode(encodeWithCrc(json).subarray(0, -1))
}

function decode(bytes: Uint8Array): void {
  try {
    const decoded = readLine({ at: 0, bytes })
    if (decoded.kind === 'record') assert.equal(typeof decoded.record.type, 'string')
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'UNSUPPORTED_VERSION')) throw error
  }
}

export const targets: readonly Target[] = [line]
