/** Numbers and times as people read them. */

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const whole = new Intl.NumberFormat('en')
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })
const dayOfYear = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: 'numeric' })

export function short(count: number): string {
  return count < 1000 ? String(count) : compact.format(count)
}

export function full(count: number): string {
  return whole.format(count)
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${full(count)} ${count === 1 ? one : many}`
}

export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const power = Math.min(Math.floor(Math.log10(Math.max(count, 1)) / 3), units.length - 1)
  return `${(count / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`
}

export function longTime(time: string): string {
  return time === '' ? '' : moment.format(new Date(time))
}

/** As near as it needs to be: minutes of today, days of this year. */
export function ago(time: string, nowMs = Date.now()): string {
  if (time === '') return ''
  const then = new Date(time)
  const seconds = (nowMs - then.getTime()) / 1000
  if (seconds < 45) return 'just now'
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`
  if (seconds < 12 * 3600) return `${Math.round(seconds / 3600)} h ago`
  const now = new Date(nowMs)
  if (then.toDateString() === now.toDateString()) return clock.format(then)
  return then.getFullYear() === now.getFullYear() ? day.format(then) : dayOfYear.format(then)
}

export function sessionPath(id: string, view = ''): string {
  return `/sessions/${encodeURIComponent(id)}${view === '' ? '' : `/${view}`}`
}
