/** Who looks at the page, and what he may do. */
import { useQuery } from '@tanstack/react-query'
import { server } from './server.ts'

export function useCaller() {
  return useQuery({ queryKey: ['whoami'], queryFn: () => server.whoami(), staleTime: 60_000 })
}

export function useScope(): 'read' | 'write' | 'admin' {
  return useCaller().data?.scope ?? 'read'
}

export function useMayWrite(): boolean {
  return useScope() !== 'read'
}
