/** The frameworks' own runners, killed with SIGKILL inside every step that they take: the next process goes on, and nothing is lost, doubled or left open. */
import { describe, expect, test } from 'vitest'
import { Child } from '../../processes/children.ts'
import type { RunnerName } from '../../processes/runner/life.ts'
import { PLACES, type Place } from './places.ts'

interface Life {
  readonly diesAt?: string
  readonly says?: string
}

/** One process: the steps that it took, and what it came to if it was let live. */
async function live(framework: RunnerName, { where, key, killed }: Place, life: Life): Promise<{ steps: string[]; result: unknown }> {
  const child = new Child('runner', { framework, where, key, ...life })
  const steps: string[] = []
  let result: unknown
  child.onLine((line) => {
    const [word = '', rest = ''] = /^(\S+) (.*)$/s.exec(line)?.slice(1) ?? []
    if (word === 'result') result = JSON.parse(rest)
    else steps.push(rest)
    if (rest === life.diesAt) child.signal('SIGKILL')
  })
  const { signal, code, complaint } = await child.ended
  expect(life.diesAt === undefined ? code : signal, complaint).toBe(life.diesAt === undefined ? 0 : 'SIGKILL')
  if (life.diesAt !== undefined) await killed()
  return { steps, result }
}

describe.each(PLACES)('on $name', ({ make }) => {
  test('a graph of LangGraph goes on at the step that it was killed in, waits for its person, and can be looked back at', async () => {
    const place = await make()
    const says = 'yes'
    expect((await live('langgraph', place, { diesAt: 'plan' })).steps).toEqual(['plan'])
    expect((await live('langgraph', place, { diesAt: 'ask' })).steps).toEqual(['plan', 'ask'])
    const waiting = await live('langgraph', place, {})
    expect(waiting).toMatchObject({ steps: ['ask'], result: { messages: ['go', 'a plan'], next: ['ask'] } })
    expect((await live('langgraph', place, { says, diesAt: 'ask' })).steps).toEqual(['ask'])
    expect((await live('langgraph', place, { says, diesAt: 'act' })).steps).toEqual(['ask', 'act'])
    const { steps, result } = await live('langgraph', place, {})
    expect({ steps, result }).toEqual({
      steps: ['act'],
      result: { messages: ['go', 'a plan', 'you said yes', 'done'], history: [4, 3, 2, 1, 0], next: [] },
    })
    const { messages } = await (await place.open()).session((await (await place.open()).list()).sessions[0]?.id ?? '').window()
    expect(JSON.stringify(messages)).toContain('you said yes')
  })

  test.each(['openai', 'ai-sdk'] as const)(
    'a turn of %s that was killed leaves what was there as it was, and can be taken again',
    async (framework) => {
      const place = await make()
      const { steps, result } = await live(framework, place, { says: 'first' })
      expect(steps).toEqual(['model', 'tool', 'model', 'end'])
      const kept = result as unknown[]
      expect(JSON.stringify(kept)).toContain('answer to first')
      for (const diesAt of ['tool', 'end']) {
        const says = `killed in ${diesAt}`
        expect((await live(framework, place, { says, diesAt })).steps.at(-1)).toBe(diesAt)
        const again = (await live(framework, place, { says: `after ${diesAt}` })).result as unknown[]
        // Everything from before is there, in its order; the turn that was killed in its last step was whole by then.
        expect(again.slice(0, kept.length)).toEqual(kept)
        const text = JSON.stringify(again)
        expect(text.includes(`answer to ${says}`)).toBe(diesAt === 'end')
        for (const answer of [`answer to after ${diesAt}`, 'answer to first']) expect(text).toContain(answer)
        kept.splice(0, kept.length, ...again)
      }
      const session = (await place.open()).session('shared')
      expect(await session.turn()).toMatchObject({ status: 'complete' })
    },
  )
})
