/** What the messages of one append are called. */
import type { Json, JsonObject } from '../../record/record.ts'
import { checkId, invalid } from '../../session/check.ts'
import type { JsonText } from '../../session/json-text.ts'

/** The id of each message that has one: given by the caller, or the message's own. Undefined if none has. */
export function messageIds(
  messages: readonly JsonText[],
  given: readonly (string | undefined)[] | 'new' | undefined,
): (string | null)[] | undefined {
  if (given === 'new') return undefined
  if (given !== undefined && !Array.isArray(given)) throw invalid('`ids` must be "new", or a list with an id for each message.')
  if (given !== undefined && given.length !== messages.length)
    throw invalid(`${messages.length} messages need as many ids; got ${given.length}.`)
  const ids = messages.map((message, index) => {
    const id = given?.[index] ?? ownId(message)
    if (given?.[index] === undefined && (typeof id !== 'string' || id === '')) return null
    return checkId('The id of a message', id)
  })
  const named = ids.filter((id) => id !== null)
  if (new Set(named).size < named.length) throw invalid('Two messages of one call have the same id.')
  return named.length === 0 ? undefined : ids
}

/** Most messages bring no id, and are not parsed to find that out. */
function ownId(message: JsonText): Json | undefined {
  return message.text.includes('"id":') ? (message.value as JsonObject).id : undefined
}
