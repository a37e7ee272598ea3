/** The log: a line of JSON for each request and for what goes wrong, on standard error. Lines are gathered and written together. */
import { type Logger, pino } from 'pino'

const GATHERED_BYTES = 4096
const FLUSH_MS = 1000

export function openLog(level: 'info' | 'warn'): { log: Logger; close: () => void } {
  const lines = pino.destination({ dest: 2, sync: false, minLength: GATHERED_BYTES })
  const flushing = setInterval(() => lines.flush(), FLUSH_MS).unref()
  const close = (): void => {
    clearInterval(flushing)
    lines.flushSync()
  }
  return { log: pino({ name: 'holdfast', level }, lines), close }
}
