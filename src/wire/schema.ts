/** How values look outside, as plain data, and the check that a value looks so. */

/** One value. */
export type Schema = { readonly description?: string } & (
  | { readonly kind: 'text' | 'time' | 'count' | 'number' | 'flag' | 'json' }
  | { readonly kind: 'one-of'; readonly values: readonly string[] }
  | { readonly kind: 'exactly'; readonly value: string | boolean }
  | { readonly kind: 'nullable' | 'list' | 'by-name'; readonly of: Schema }
  | { readonly kind: 'pair'; readonly of: Schema }
  /** The same object again, one level further down. */
  | { readonly kind: 'nested'; readonly of: () => Schema }
  | ObjectSchema
)

export interface ObjectSchema {
  readonly kind: 'object'
  /** Of the component in the OpenAPI document. */
  readonly name?: string
  readonly description?: string
  readonly fields: readonly { readonly name: string; readonly schema: Schema; readonly optional: boolean }[]
  /** Whether other fields may follow. */
  readonly open?: true
}

/** What came is not what the description says. */
class Mismatch extends TypeError {
  readonly place: string
  readonly what: string

  constructor(place: string, what: string) {
    super(`${place === '' ? 'The result' : place} ${what}`)
    this.place = place
    this.what = what
  }

  within(outer: string): Mismatch {
    return new Mismatch(this.place === '' ? outer : `${outer}.${this.place}`, this.what)
  }
}

/** Decodes a part of a value. Its place is named if it does not have the type of its description. */
export function decodedAt<T>(place: string, decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    throw error instanceof Mismatch ? error.within(place) : error
  }
}

/** The value, if it has the type of its description. */
export function requireKind<T>(schema: Schema, value: T): T {
  if (value === undefined) throw new Mismatch('', 'is missing')
  if (!isOfKind(schema, value)) throw new Mismatch('', `must be of the type ${schema.kind}`)
  return value
}

function isOfKind(schema: Schema, value: unknown): boolean {
  switch (schema.kind) {
    case 'text':
    case 'time':
    case 'one-of':
      return typeof value === 'string'
    case 'count':
    case 'number':
      return typeof value === 'number'
    case 'flag':
      return typeof value === 'boolean'
    case 'exactly':
      return typeof value === typeof schema.value
    case 'list':
      return Array.isArray(value)
    case 'pair':
      return Array.isArray(value) && value.length === 2 && value.every((one) => isOfKind(schema.of, one))
    case 'by-name':
      return isObject(value) && Object.values(value).every((one) => isOfKind(schema.of, one))
    case 'object':
      return isObject(value) && schema.fields.every(({ name, schema: of, optional: may }) => may || isOfKind(of, value[name]))
    default:
      // Any JSON. What is nullable or nested decodes its own parts.
      return true
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
