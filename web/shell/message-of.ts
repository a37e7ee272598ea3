import { HoldfastError } from 'holdfast/client'

/** The text that the page shows for an error. Messages of the store say what to do. */
export function messageOf(error: unknown): string {
  if (error instanceof HoldfastError) return error.message
  return error instanceof Error ? error.message : String(error)
}
