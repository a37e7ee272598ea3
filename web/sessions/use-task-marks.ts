import { useQuery } from '@tanstack/react-query'
import { server } from '../shell/server.ts'
import { readTaskMarks, type TaskMark } from './task-marks.ts'

const REFRESH_MS = 5000

export function useTaskMarks(): ReadonlyMap<string, TaskMark> {
  const { data } = useQuery({ queryKey: ['task-marks'], refetchInterval: REFRESH_MS, queryFn: () => readTaskMarks(server) })
  return data ?? NONE
}

const NONE: ReadonlyMap<string, TaskMark> = new Map()
