/**
 * Whether the server answers, and whether it knows the caller. All requests of the page go through `fetch`, which reads this from each
 * answer.
 */
import { HoldfastError } from 'holdfast/client'

export type Link = 'connected' | 'lost' | 'signed-out'

export class LinkViewModel {
  readonly #fetch: typeof fetch
  readonly #listeners = new Set<() => void>()
  #state: Link = 'connected'

  constructor(request: typeof fetch) {
    this.#fetch = request
  }

  get state(): Link {
    return this.#state
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  fetch: typeof fetch = async (input, init) => {
    try {
      const response = await this.#fetch(input, init)
      if (response.status === 401) this.#set('signed-out')
      else if (response.status !== 503) this.#set('connected')
      return response
    } catch (error) {
      // An aborted request says nothing about the server.
      if (init?.signal?.aborted !== true) this.#set('lost')
      throw error
    }
  }

  /** Calls back when the server answers again after it did not. */
  onReconnect(callback: () => void): () => void {
    let before = this.#state
    return this.subscribe(() => {
      if (before === 'lost' && this.#state === 'connected') callback()
      before = this.#state
    })
  }

  /** Exchanges a key for a cookie that this page cannot read. */
  async signIn(key: string): Promise<void> {
    const response = await this.#fetch('/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key: key.trim() }),
    })
    if (response.ok) return this.#set('connected')
    const { error } = (await response.json()) as { error: { message: string } }
    throw new HoldfastError('UNAUTHENTICATED', error.message)
  }

  async signOut(): Promise<void> {
    await this.#fetch('/logout', { method: 'POST' })
    this.#set('signed-out')
  }

  #set(next: Link): void {
    if (next === this.#state) return
    this.#state = next
    for (const listener of this.#listeners) listener()
  }
}
