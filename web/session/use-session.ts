/** What the page of a session stands on: the handle, what is known of the session, and the transcript that follows it. */

import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import type { RemoteSession } from 'holdfast/client'
import { useEffect, useMemo } from 'react'
import { useWhileVisible } from '../shell/live.ts'
import { server, serverLink } from '../shell/server.ts'
import { Soon } from '../shell/soon.ts'
import { PAGE, TranscriptViewModel } from './transcript-view-model.ts'

/** While agents write, what is told beside the messages is asked for this often. */
const REFRESH_MS = 1000

export function useInfo(id: string) {
  return useQuery({ queryKey: ['session', id], queryFn: async () => server.session(id).info() })
}

export function useArchives(id: string) {
  return useQuery({
    queryKey: ['session', id, 'archives'],
    queryFn: async () => server.session(id).archives(),
    placeholderData: keepPreviousData,
  })
}

/** Where a message stands, by its id. */
export function useMessagePlace(id: string, message: string | undefined) {
  return useQuery({
    queryKey: ['session', id, 'message', message],
    enabled: message !== undefined,
    queryFn: async () => (await server.session(id).message(message as string)) ?? null,
  })
}

export function useTranscript(id: string): TranscriptViewModel {
  const queries = useQueryClient()
  const handle = useMemo(() => server.session(id), [id])
  const viewModel = useMemo(() => new TranscriptViewModel((depth) => pageOf(handle, depth)), [handle])
  const refresh = useMemo(() => new Soon(REFRESH_MS, () => void queries.invalidateQueries({ queryKey: ['session', id] })), [queries, id])
  useEffect(() => serverLink.onReconnect(() => void viewModel.open()), [viewModel])
  useEffect(() => () => refresh.cancel(), [refresh])
  // On the handle that the view model reads from: it waits until the stream is open, so that no change falls between the two.
  useWhileVisible((signal) => viewModel.follow(handle.follow({ signal }), () => refresh.ask()), viewModel)
  return viewModel
}

function pageOf(session: RemoteSession, depth: number | undefined) {
  return session.messages({ archived: true, limit: PAGE, ...(depth === undefined ? {} : { depth }) })
}

/** Opens a transcript that nobody follows. */
export function useOpened(viewModel: TranscriptViewModel): void {
  useEffect(() => void viewModel.open(), [viewModel])
}
