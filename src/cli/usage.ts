/** `usage`: what calls to models took, of one session or of all. */
import type { Usage } from '../session/state.ts'
import type { Store } from '../store/store.ts'
import type { Context } from './context.ts'
import { collectSessions } from './sessions.ts'

export async function usage(context: Context, [id]: [string?]): Promise<void> {
  const { out } = context
  const store = await context.read()
  const used = id === undefined ? await totalOf(context, store) : await (await store.session(id)).usage()
  await out.results(
    used,
    ({ model, calls, inputTokens, outputTokens }) => ({
      ...(id === undefined ? {} : { session_id: id }),
      model,
      calls,
      input_tokens: inputTokens,
      output_tokens: outputTokens,
    }),
    [
      { title: 'MODEL', shrinks: true },
      { title: 'CALLS', align: 'right' },
      { title: 'INPUT', align: 'right' },
      { title: 'OUTPUT', align: 'right' },
    ],
    ({ model, calls, inputTokens, outputTokens }) => [model, String(calls), String(inputTokens), String(outputTokens)],
  )
  if (used.length === 0) out.note('No calls to models are recorded.')
}

async function totalOf({ out, signal }: Context, store: Store): Promise<Usage[]> {
  const byModel = new Map<string, Usage>()
  const progress = out.progress()
  const { sessions } = await collectSessions(store, {})
  for (const [index, { id, status }] of sessions.entries()) {
    if (signal.aborted) break
    progress.update(`adding up: ${index} of ${sessions.length} sessions`)
    if (status === 'unreadable') {
      out.warn(`The session "${id}" cannot be read and is not counted.`, { session_id: id })
      continue
    }
    for (const one of await (await store.session(id)).usage()) {
      const { calls = 0, inputTokens = 0, outputTokens = 0 } = byModel.get(one.model) ?? {}
      byModel.set(one.model, {
        model: one.model,
        calls: calls + one.calls,
        inputTokens: inputTokens + one.inputTokens,
        outputTokens: outputTokens + one.outputTokens,
      })
    }
  }
  progress.end()
  return [...byModel.values()]
}
