/**
 * The server that this page came from. Every request goes through one `fetch`, which notes whether the server answers: that is how the
 * page knows that it is cut off, and when it is not any longer. The client itself asks again.
 */
import { connect, HoldfastError } from 'holdfast/client'
import { useSyncExternalStore } from 'react'

type Link = 'connected' | 'lost' | 'signed-out'

let link: Link = 'connected'
const listeners = new Set<() => void>()

function setLink(next: Link): void {
  if (next === link) return
  link = next
  for (const listener of listeners) listener()
}

function watched(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  return fetch(input, init).then(
    (response) => {
      if (response.status === 401) setLink('signed-out')
      else if (response.status !== 503) setLink('connected')
      return response
    },
    (error: unknown) => {
      // Whoever gives up a request learns nothing about the server.
      if (init?.signal?.aborted !== true) setLink('lost')
      throw error
    },
  )
}

export const server = connect(location.origin, { fetch: watched, retries: 8 })

export function useLink(): Link {
  return useSyncExternalStore(subscribeLink, () => link)
}

function subscribeLink(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Calls back when the server answers again after it did not. */
export function onReconnect(callback: () => void): () => void {
  let before = link
  return subscribeLink(() => {
    if (before === 'lost' && link === 'connected') callback()
    before = link
  })
}

/** A key becomes a cookie that this page cannot read. */
export async function signIn(key: string): Promise<void> {
  const response = await fetch('/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key: key.trim() }),
  })
  if (response.ok) return setLink('connected')
  const { error } = (await response.json()) as { error: { message: string } }
  throw new HoldfastError('UNAUTHENTICATED', error.message)
}

export async function signOut(): Promise<void> {
  await fetch('/logout', { method: 'POST' })
  setLink('signed-out')
}

/** What to tell somebody about an error: messages of the store say what to do. */
export function messageOf(error: unknown): string {
  if (error instanceof HoldfastError) return error.message
  return error instanceof Error ? error.message : String(error)
}
