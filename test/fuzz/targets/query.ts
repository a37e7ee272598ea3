/** The query parser, with all that follows it: the index of words, and the snippets. */
import assert from 'node:assert/strict'
import { HoldfastError } from '../../../src/errors.ts'
import { openStore } from '../../../src/store/open-store.ts'
import type { Store } from '../../../src/store/store.ts'
import type { Target } from '../target.ts'

const query: Target = {
  name: 'query',
  module: import.meta.url,
  seeds: ['parcel', '"lost parcel" ref*', 'Straße ﬁ e\u0301', 'a OR b NOT c', '漢字 тест', '- * " ( )'].map((text) => Buffer.from(text)),
  fuzz,
}

let store: Store | undefined
const texts = ['My parcel is lost.', 'Straße, ﬁn e\u0301te\u0301 漢字 тест', 'a or b not c, see (https://x.y/z?q=1)']

async function open(): Promise<Store> {
  const opened = await openStore('memory:')
  for (const [index, content] of texts.entries()) await opened.session(`s${index}`).append({ role: 'user', content })
  return opened
}

async function fuzz(data: Buffer): Promise<void> {
  try {
    store ??= await open()
    const { hits } = await store.search(data.toString())
    for (const { snippet, marks } of hits)
      for (const [from, to] of marks) assert.ok(0 <= from && from < to && to <= snippet.length, `${from} to ${to} in ${snippet.length}`)
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'INVALID_ARGUMENT')) throw error
  }
}

export const targets: readonly Target[] = [query]
