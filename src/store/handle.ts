/** What every call on a session needs: its journal and replica, its state, and the way of a command into the journal. */
import { HoldfastError } from '../errors.ts'
import { lossError, namingSession } from '../journal/loss.ts'
import type { Held } from '../journal/replicas.ts'
import { isDamaged } from '../record/damage.ts'
import type { Operation } from '../record/operation.ts'
import type { Json } from '../record/record.ts'
import { checkId } from '../session/check.ts'
import { InheritedKeysNeeded, type Outcome, type Terms } from '../session/command.ts'
import { create, requireLive } from '../session/decide.ts'
import { digestOf } from '../session/json-text.ts'
import { absent, noMessage } from '../session/refusals.ts'
import { ABSENT_VERSION, type SessionState } from '../session/state.ts'
import { type Located, Transcript } from './messages/transcript.ts'
import type { SessionParts } from './parts.ts'

export interface WriteOptions {
  /** The idempotency key: a repeated call with the same key changes nothing and returns the first result. Defaults to none. */
  readonly key?: string
  /** The version that the session must still have. Defaults to any. */
  readonly expect?: string
}

export interface Written {
  /** The version of the session after this call. */
  readonly version: string
  /** True if nothing was written, because an earlier call did the same. */
  readonly duplicate: boolean
}

export function written({ version, duplicate }: Outcome): Written {
  return { version, duplicate }
}

/** Makes the operation of a command, given its terms. */
export type Make = (terms: Terms) => Operation<SessionState, Outcome>

export class Handle<P extends SessionParts = SessionParts> {
  readonly id: string
  readonly parts: P
  readonly name: string
  /** It was there once: then it need not be created. */
  #wasThere = false

  constructor(parts: P, id: string) {
    this.id = id
    this.parts = parts
    this.name = parts.engine.name(parts.space, id)
  }

  get held(): Held<SessionState> {
    return this.parts.replicas.of(this.name)
  }

  get #named(): { readonly space: string; readonly id: string } {
    return { space: this.parts.space, id: this.id }
  }

  async state(): Promise<SessionState> {
    return (await this.held.replica.read()).state
  }

  /** The same, where an answer would be wrong if the journal is another session's, or nothing of it is left: then it throws DAMAGED. */
  async readableState(): Promise<SessionState> {
    const { replica } = this.held
    const { state } = await replica.read()
    const { loss } = replica
    if (loss !== undefined && (loss.as === 'identity' || state.status === 'absent')) throw lossError(loss, this.#named)
    // Nothing that could be read is not nothing: it must not be taken for a session that never was.
    if (state.status === 'absent' && isDamaged(replica.damage)) {
      throw new HoldfastError('DAMAGED', 'Something was written to this session, but nothing of it can be read. Run `holdfast doctor`.')
    }
    return state
  }

  async liveState(): Promise<SessionState> {
    const { replica } = this.held
    const live = this.#live(await this.readableState())
    if (live.erasing.length === 0) return live
    // A process died while it erased. If this cannot finish its work either, the message stays hidden at least.
    await this.parts.recover(this.parts, this.id).catch((error: unknown) => {
      if (!(error instanceof HoldfastError)) throw error
    })
    return this.#live((await replica.read()).state)
  }

  #live(state: SessionState): SessionState {
    if (state.status === 'absent') throw absent(this.id)
    return requireLive(state)
  }

  async transcript(): Promise<Transcript> {
    return new Transcript(this.parts, this.id, await this.liveState())
  }

  async locate(message: string): Promise<Located> {
    const transcript = await this.transcript()
    const located = await transcript.locate(checkId('The message id', message))
    if (located === undefined) throw (await transcript.whyUnknown(message)) ?? noMessage(message)
    return located
  }

  /** The terms of a command. `body` is everything that the caller sent: under one key it must always be the same. */
  terms(operation: string, body: unknown, { key, expect }: WriteOptions, located?: Located): Terms {
    const terms = { expect, born: located?.born }
    if (key === undefined) return terms
    return { ...terms, key: checkId('The key of an operation', key), digest: digestOf([operation, body as Json]) }
  }

  /** Carries out a command that makes the session if there is none, in the same write. */
  submitCreating(terms: Terms, make: Make): Promise<Outcome> {
    return this.#wasThere ? this.submit(terms, make) : this.#submitFirst(terms, make)
  }

  async #submitFirst(terms: Terms, make: Make): Promise<Outcome> {
    const session = { space: this.parts.space, session: this.id }
    if (terms.expect === ABSENT_VERSION && (await this.state()).status === 'absent') {
      const { version } = await this.submit({ expect: ABSENT_VERSION }, (full) => create(full, session))
      return this.submit({ ...terms, expect: version }, make)
    }
    // If this is refused, so is the command, and tells why.
    if (terms.expect === undefined) this.held.replica.submit(create({}, session, { ifAbsent: true })).catch(() => undefined)
    return this.submit(terms, make)
  }

  /** Carries out a command; one that needs to know what a fork inherited is submitted again with that. */
  async submit(terms: Terms, make: Make): Promise<Outcome> {
    let full = terms
    for (;;) {
      try {
        const outcome = await this.held.replica.submit(make(full))
        this.#wasThere = true
        return outcome
      } catch (error) {
        if (error instanceof HoldfastError) throw error.details.reason === 'absent' ? absent(this.id) : namingSession(error, this.#named)
        if (!(error instanceof InheritedKeysNeeded)) throw error
        const known = await new Transcript(this.parts, this.id, error.state).findInPast(error.keys)
        full = { ...terms, inherited: { born: error.state.born, known } }
      }
    }
  }
}
