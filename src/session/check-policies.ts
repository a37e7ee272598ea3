/**
 * What a session asks for by its policies. The known ones are checked before they are written, because a mistyped field would archive or delete
 * messages that it was meant to keep. Policies of other names belong to the caller. What journals hold already is read as it is.
 */
import { LIMITS } from '../record/limits.ts'
import type { Json, JsonObject } from '../record/record.ts'
import { checkDescription, invalid } from './check.ts'
import type { Descriptive } from './decide.ts'

/** What a field must be, in words, and whether it is. */
type Rule = readonly [expected: string, holds: (value: Json) => boolean]

const isNumber = (value: Json): boolean => typeof value === 'number' && value >= 0
const NUMBER: Rule = ['a number from 0 on', isNumber]
const KEPT: Rule = [
  `a whole number from 0 to ${LIMITS.keptMessages}`,
  (value) => Number.isInteger(value) && isNumber(value) && (value as number) <= LIMITS.keptMessages,
]
const SECONDS: Rule = ['a number of seconds from 0 on, or null', (value) => value === null || isNumber(value)]
const TARGET: Rule = ['{ enabled: true }, { enabled: false } or null', (value) => value === null || isTarget(value)]
const TYPES: Rule = ['a list of texts, or null', (value) => value === null || isTexts(value)]

const KNOWN: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  auto_commit: { tokens: NUMBER, messages: NUMBER, idle_ms: NUMBER, min_interval_ms: NUMBER, keep: KEPT },
  retention: { delete_idle_after: SECONDS, drop_archives_after: SECONDS },
  memory_policy: { self: TARGET, peer: TARGET, memory_types: TYPES, working_memory: TARGET },
}

/** A description that a caller gives now, its policies included. */
export function checkCallersDescription(description: Descriptive): Descriptive {
  const checked = checkDescription(description)
  for (const [name, policy] of Object.entries(checked.policies ?? {})) {
    const rules = Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined
    if (rules !== undefined && policy !== null) checkPolicy(name, policy, rules)
  }
  return checked
}

function checkPolicy(name: string, policy: Json, rules: Readonly<Record<string, Rule>>): void {
  const fields = Object.keys(rules).join(', ')
  if (!isObject(policy)) throw invalid(`The policy \`${name}\` must be an object with some of ${fields}, or null.`)
  for (const [field, value] of Object.entries(policy)) {
    const rule = Object.hasOwn(rules, field) ? rules[field] : undefined
    if (rule === undefined) throw invalid(`The policy \`${name}\` has no field "${field}". It has ${fields}.`)
    const [expected, holds] = rule
    if (!holds(value)) throw invalid(`\`${name}.${field}\` must be ${expected}; got ${JSON.stringify(value).slice(0, 100)}.`)
  }
}

function isTarget(value: Json): boolean {
  return isObject(value) && Object.entries(value).every(([field, enabled]) => field === 'enabled' && typeof enabled === 'boolean')
}

function isTexts(value: Json): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== '')
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
