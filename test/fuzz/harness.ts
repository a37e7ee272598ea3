/** What the fuzzer loads: one target. */
import type { Target } from './target.ts'

const { HOLDFAST_FUZZ_MODULE: module = '', HOLDFAST_FUZZ_TARGET: wanted } = process.env
const { targets } = (await import(module)) as { readonly targets: readonly Target[] }
const target = targets.find(({ name }) => name === wanted)
if (target === undefined) throw new Error('HOLDFAST_FUZZ_MODULE and HOLDFAST_FUZZ_TARGET name no target.')

export const fuzz = (data: Buffer): void | Promise<void> => target.fuzz(data)
