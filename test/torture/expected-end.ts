/** Which ends of processes a driver caused. */

/** An end that the driver caused. A server that was interrupted says so with its code. */
export function isExpected(
  { code, signal }: { readonly code: number | null; readonly signal: string | null },
  { isKilled, isOver }: { readonly isKilled: boolean; readonly isOver: boolean },
): boolean {
  if (signal === 'SIGKILL') return isKilled
  return isOver && (code === 0 || code === 130)
}
