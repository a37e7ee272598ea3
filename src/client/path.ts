/** Paths of requests. This is the only place that puts ids into them. */
import { invalid } from '../errors.ts'

/** A path whose ids are encoded: pathOf`/sessions/${id}`. */
export function pathOf(texts: TemplateStringsArray, ...ids: readonly unknown[]): string {
  return texts.map((text, index) => (index === 0 ? text : segmentOf(ids[index - 1]) + text)).join('')
}

/** An id as a segment of a path. `fetch` resolves `.` and `..`, also when they are encoded: the request would reach something else. */
export function segmentOf(id: unknown): string {
  if (typeof id !== 'string' || id === '') throw invalid('An id must be a text that is not empty.')
  if (id === '.' || id === '..') throw invalid(`The id "${id}" cannot be part of an address. Choose another id.`)
  if (!id.isWellFormed()) throw invalid('An id has half of a surrogate pair, which cannot be sent.')
  return encodeURIComponent(id)
}
