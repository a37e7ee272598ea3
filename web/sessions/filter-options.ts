/** The filters of the list, as the address holds them and as the server takes them. */
import type { ListOptions } from './sessions-view-model.ts'

const NAMES = ['status', 'time', 'tag', 'model', 'owner', 'parent', 'order'] as const
type FilterName = (typeof NAMES)[number] | 'q'
export type Filters = Readonly<Partial<Record<FilterName, string>>>

const DAY_MS = 86_400_000
export const TIMES: Readonly<Record<string, { readonly label: string; readonly ms: number }>> = {
  '1h': { label: 'last hour', ms: DAY_MS / 24 },
  '1d': { label: 'last day', ms: DAY_MS },
  '7d': { label: 'last week', ms: 7 * DAY_MS },
  '30d': { label: 'last 30 days', ms: 30 * DAY_MS },
}
export const STATUSES = ['ok', 'damaged', 'unreadable', 'deleted'] as const
export const ORDERS = { updated: 'last changed', created: 'newest', title: 'title' } as const

export function filtersIn(params: URLSearchParams): Filters {
  return Object.fromEntries([...params].filter(([, value]) => value !== '')) as Filters
}

/** The address after some filters changed. An empty or undefined value removes its filter. */
export function withFilters(params: URLSearchParams, patch: Filters): URLSearchParams {
  const next = new URLSearchParams(params)
  for (const [name, value] of Object.entries(patch)) value === undefined || value === '' ? next.delete(name) : next.set(name, value)
  return next
}

/** The filters as options of the list. An address may hold any text, so values that are no choice are left out. */
export function listOptions({ status, time, tag, model, owner, parent, order }: Filters, nowMs = Date.now()): ListOptions {
  const range = time !== undefined && Object.hasOwn(TIMES, time) ? TIMES[time] : undefined
  return {
    ...(STATUSES.includes(status as 'ok') ? { status: status as 'ok' } : {}),
    ...(range === undefined ? {} : { from: new Date(nowMs - range.ms) }),
    ...(tag === undefined ? {} : { tag }),
    ...(model === undefined ? {} : { model }),
    ...(owner === undefined ? {} : { owner }),
    ...(parent === undefined ? {} : { parent }),
    ...(order !== undefined && Object.hasOwn(ORDERS, order) ? { order: order as 'created' } : {}),
  }
}

/** The filters as options of a search. */
export function searchOptions(filters: Filters, nowMs = Date.now()): Pick<ListOptions, 'tag' | 'owner' | 'from'> {
  const { tag, owner, from } = listOptions(filters, nowMs)
  return {
    ...(tag === undefined ? {} : { tag }),
    ...(owner === undefined ? {} : { owner }),
    ...(from === undefined ? {} : { from }),
  }
}

/** The word that is being typed matches by its beginning. */
export function queryOf(text: string): string {
  return /[\p{L}\p{N}]$/u.test(text) && !text.includes('"') ? `${text}*` : text
}
