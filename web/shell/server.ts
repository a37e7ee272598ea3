/** The server that this page came from. The client itself repeats requests that got no answer. */
import { connect } from 'holdfast/client'
import { useSyncExternalStore } from 'react'
import { type Link, LinkViewModel } from './link-view-model.ts'

export const serverLink = new LinkViewModel((input, init) => fetch(input, init))
export const server = connect(location.origin, { fetch: serverLink.fetch, retries: 8 })

export function useLink(): Link {
  return useSyncExternalStore(serverLink.subscribe, () => serverLink.state)
}
