/** Values that JSON cannot hold. `JSON.stringify` writes them as `null` or `{}`, or leaves them out, and reports nothing. */

interface Found {
  readonly place: string
  readonly what: string
}

/**
 * Names the first value that JSON would change, such as `usage.cost is NaN`: a number that is not finite, a function, a symbol, a Map, a Set or a
 * typed array. An object with a `toJSON` passes, and so does `undefined`. The value must have no cycles.
 */
export function notJson(value: unknown): string | undefined {
  const found = find(value)
  return found === undefined ? undefined : `${found.place.replace(/^\./, '') || 'it'} is ${found.what}`
}

function find(value: unknown): Found | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : { place: '', what: String(value) }
  if (typeof value === 'function' || typeof value === 'symbol') return { place: '', what: `a ${typeof value}` }
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) return findItem(value)
  if (typeof (value as { readonly toJSON?: unknown }).toJSON === 'function') return undefined
  if (ArrayBuffer.isView(value) || value instanceof Map || value instanceof Set) return { place: '', what: `a ${value.constructor.name}` }
  const fields = value as Readonly<Record<string, unknown>>
  for (const name of Object.keys(fields)) {
    const found = find(fields[name])
    if (found !== undefined) return { ...found, place: `.${name}${found.place}` }
  }
  return undefined
}

function findItem(items: readonly unknown[]): Found | undefined {
  for (let index = 0; index < items.length; index++) {
    const found = find(items[index])
    if (found !== undefined) return { ...found, place: `[${index}]${found.place}` }
  }
  return undefined
}
