/** What the one who looks may do. */
import { useQuery } from '@tanstack/react-query'
import { server } from '../shell/server.ts'

export function useScope(): 'read' | 'write' | 'admin' {
  const { data } = useQuery({ queryKey: ['whoami'], queryFn: () => server.whoami(), staleTime: 60_000 })
  return data?.scope ?? 'read'
}

export function useMayWrite(): boolean {
  return useScope() !== 'read'
}
