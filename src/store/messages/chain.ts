/**
 * A chain of operations that are under way together and must keep their order: behind one that was refused, none is carried out. Without
 * it, a message that did not fit on a full disk would be missing in front of a shorter one that did, and be appended behind it later.
 */

import type { Operation } from '../../record/operation.ts'
import { InheritedKeysNeeded } from '../../session/command.ts'

type Link = <S, R>(operation: Operation<S, R>) => Operation<S, R>

export class Chain {
  /** The link that was refused first, and why. */
  #broken: { readonly at: Link; readonly error: unknown } | undefined

  /** The next link. It may be put on an operation again, if that one has to be submitted anew. */
  link(): Link {
    const link: Link = (operation) => ({
      ...operation,
      decide: (state, known) => {
        // After a lost race everything is decided again: what broke the chain then may not break it now.
        if (this.#broken?.at === link) this.#broken = undefined
        if (this.#broken !== undefined) return { refuse: this.#broken.error as Error }
        const decision = operation.decide(state, known)
        if ('refuse' in decision) this.#break(link, decision.refuse)
        return decision
      },
      refused: (error) => this.#break(link, error),
    })
    return link
  }

  /** An operation that only has to be submitted again, with more knowledge, was not refused. */
  #break(at: Link, error: unknown): void {
    if (!(error instanceof InheritedKeysNeeded)) this.#broken ??= { at, error }
  }
}
