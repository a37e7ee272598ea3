/** The shortest history that still breaks a rule: calls are left out, many at first and then one by one, as long as what is broken stays so. */
import { check, type Final, type Violation } from './check.ts'
import type { Call, History } from './history.ts'

/** Calls of other sessions explain nothing, unless the store as a whole is wrong. */
export function shortest(history: History, final: Final, broken: Violation): readonly Call[] {
  const stays = (calls: readonly Call[]): boolean =>
    check({ ...history, calls }, only(final, broken)).some(({ rule, session, what }) => isSame(broken, { rule, session, what }))
  const all = history.calls.filter((call) => broken.session === '' || !('session' in call) || concerns(call, broken.session))
  // A rule that looks at two sessions needs both.
  let calls: readonly Call[] = stays(all) ? all : history.calls
  for (let size = Math.ceil(calls.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < calls.length; ) {
      const fewer = [...calls.slice(0, from), ...calls.slice(from + size)]
      if (stays(fewer)) calls = fewer
      else from += size
    }
  }
  return calls
}

function concerns(call: Call, session: string): boolean {
  return ('session' in call && call.session === session) || ('child' in call && call.child === session)
}

function isSame(a: Violation, b: Violation): boolean {
  return a.rule === b.rule && a.session === b.session && a.what === b.what
}

/** Looking at one session is enough for what is wrong with one. */
function only(final: Final, { session, rule }: Violation): Final {
  const own = final.sessions.get(session)
  if (own === undefined || rule === 'a fork is a beginning' || rule === 'extracted by one session') return final
  return { ...final, sessions: new Map([[session, own]]) }
}
