/** What the page of a session stands on: the handle, what is known of the session, and the transcript that follows it. */
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useRef } from 'react'
import { useWhileVisible } from '../shell/live.ts'
import { onReconnect, server } from '../shell/server.ts'
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
  const viewModel = useMemo(() => new TranscriptViewModel(async (depth) => pageOf(server.session(id), depth)), [id])
  const refreshing = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => onReconnect(() => void viewModel.open()), [viewModel])
  useEffect(() => () => clearTimeout(refreshing.current), [])
  const refreshSoon = (): void => {
    refreshing.current ??= setTimeout(() => {
      refreshing.current = undefined
      void queries.invalidateQueries({ queryKey: ['session', id] })
    }, REFRESH_MS)
  }
  useWhileVisible(async (signal) => {
    const changes = (await handle).follow({ signal })
    // Asked for behind the stream, on the same handle: what comes between the two is in both, and applying it twice changes nothing.
    await viewModel.open()
    for await (const change of changes) {
      viewModel.apply(change)
      refreshSoon()
    }
  }, viewModel)
  return viewModel
}

function pageOf(session: Awaited<ReturnType<typeof server.session>>, depth: number | undefined) {
  return session.messages({ archived: true, limit: PAGE, ...(depth === undefined ? {} : { depth }) })
}

/** Opens a transcript that nobody follows. */
export function useOpened(viewModel: TranscriptViewModel): void {
  useEffect(() => void viewModel.open(), [viewModel])
}
