/**
 * One description for each resource: what a field is called in the library and outside, how its value looks outside, and what it is for.
 *
 * A codec encodes a value of the library for JSON and decodes it again. Its `schema` is plain data, from which the server makes the schemas of
 * the OpenAPI document (`server/wire-schema.ts`). This module does not use zod: client and command line load it, and zod takes longer to load
 * than both of them (docs/decisions/0021-one-codec-for-each-resource.md).
 *
 * Decoding checks what it reads: a field that is required must be present, and a value must have the type of its description. A text of a
 * closed set may be any text, because a newer server may have more of them. Fields that a codec does not list leave the process in neither
 * direction.
 */
import type { Json, JsonObject } from '../record/record.ts'
import { decodedAt, isObject, type ObjectSchema, requireKind, type Schema } from './schema.ts'

/** `Out`: the value in the library. `Wire`: the value in JSON. `In`: what encoding needs, which may be more than decoding returns. */
export interface Codec<Out, Wire, In = Out> {
  encode(value: In): Wire
  decode(value: Wire): Out
  readonly schema: Schema
}

/** What a codec sends. */
export type WireOf<C> = C extends { encode(value: never): infer Wire } ? Wire : never
type DecodedOf<C> = C extends { decode(value: never): infer Out } ? Out : never
type EncodedOf<C> = C extends { encode(value: infer In): unknown } ? In : never

/** Ties a codec to a type of the library: `satisfies Describes<Usage>` compiles only if every field of `Usage` comes back. */
export interface Describes<T, Context = unknown> {
  // A property, because parameters of methods are compared loosely.
  readonly encode: (value: T & Context) => unknown
  decode(value: never): T
}

/** A value that looks the same on both sides. */
function plain<T>(schema: Schema): Codec<T, T> {
  return { encode: (value) => value, decode: (value) => requireKind(schema, value), schema }
}

export const text = plain<string>({ kind: 'text' })
/** A time as ISO 8601 text. */
export const time = plain<string>({ kind: 'time' })
/** An integer from 0. */
export const count = plain<number>({ kind: 'count' })
export const decimal = plain<number>({ kind: 'number' })
export const flag = plain<boolean>({ kind: 'flag' })
export const json = plain<Json>({ kind: 'json' })
export const jsonObject = objectOf<JsonObject>()
export const countPair = plain<readonly [number, number]>({ kind: 'pair', of: count.schema })

/** A text of a closed set that may grow: clients accept any. */
export function asText<T extends string>(): Codec<T, T> {
  return plain<T>(text.schema)
}

/** An object of JSON that passes as it is. Only the type says what is in it. */
export function objectOf<T extends object>(): Codec<T, T> {
  return plain<T>({ kind: 'by-name', of: json.schema })
}

/** The same, with the fields that all its kinds have. */
export function objectWith<T extends object>(fields: Readonly<Partial<Record<keyof T & string, Codec<unknown, unknown>>>>): Codec<T, T> {
  const known = Object.entries(fields).map(([name, codec]) => ({
    name,
    schema: (codec as Codec<unknown, unknown>).schema,
    optional: false,
  }))
  return plain<T>({ kind: 'object', fields: known, open: true })
}

/** A value for each name. */
export function byName<T>(codec: Codec<T, T>): Codec<Readonly<Record<string, T>>, Readonly<Record<string, T>>> {
  return plain({ kind: 'by-name', of: codec.schema })
}

export function oneOf<const V extends string>(...values: readonly V[]): Codec<V, V> {
  return plain<V>({ kind: 'one-of', values })
}

export function exactly<const V extends string | boolean>(value: V): Codec<V, V> {
  return plain<V>({ kind: 'exactly', value })
}

export function nullable<Out, Wire, In>(codec: Codec<Out, Wire, In>): Codec<Out | null, Wire | null, In | null> {
  return {
    encode: (value) => (value === null ? null : codec.encode(value)),
    decode: (value) => (value === null ? null : codec.decode(value)),
    schema: { kind: 'nullable', of: codec.schema },
  }
}

export function list<Out, Wire, In>(codec: Codec<Out, Wire, In>): Codec<Out[], Wire[], readonly In[]> {
  const schema = { kind: 'list', of: codec.schema } as const
  return {
    encode: (values) => values.map((value) => codec.encode(value)),
    decode: (values) => {
      requireKind(schema, values)
      return values.map((value, index) => decodedAt(String(index), () => codec.decode(value)))
    },
    schema,
  }
}

/** Objects of a kind within an object of that kind. */
export function nested<Out, Wire>(codec: () => Codec<Out, Wire>, description: string): Codec<Out, Wire> {
  return {
    encode: (value) => codec().encode(value),
    decode: (value) => codec().decode(value),
    schema: { kind: 'nested', of: () => codec().schema, description },
  }
}

/** For the OpenAPI document. */
export function described<C extends Codec<unknown, unknown>>(codec: C, description: string): C {
  return { ...codec, schema: { ...codec.schema, description } }
}

/** The field has this name outside. Defaults to its name in snake_case. */
export function as<const N extends string, C extends Codec<unknown, unknown>>(wireName: N, codec: C): C & { readonly wireName: N } {
  return { ...codec, wireName }
}

/** The field may be absent, on both sides. */
export function optional<C extends Codec<unknown, unknown>>(codec: C): C & { readonly optional: true } {
  return { ...codec, optional: true }
}

/** The field may be absent in the library, and is null outside then. */
export function orNull<Out, Wire, In>(
  codec: Codec<Out, Wire, In>,
): Codec<Out | undefined, Wire | null, In | undefined> & { readonly orNull: true } {
  return {
    encode: (value) => (value === undefined ? null : codec.encode(value)),
    decode: (value) => (value == null ? undefined : codec.decode(value)),
    schema: { kind: 'nullable', of: codec.schema },
    orNull: true,
  }
}

/** An empty list is left out. */
export function ifAny<Out, Wire, In>(
  codec: Codec<Out[], Wire[], readonly In[]>,
): Codec<Out[], Wire[] | undefined, readonly In[]> & { readonly ifAny: true } {
  return {
    encode: (values) => (values.length === 0 ? undefined : codec.encode(values)),
    decode: (values) => (values === undefined ? [] : codec.decode(values)),
    schema: codec.schema,
    ifAny: true,
  }
}

/** The field is sent and not decoded: the receiver knows it already, or can compute it. */
export function sent<C extends Codec<unknown, unknown>>(codec: C): C & { readonly sent: true } {
  return { ...codec, sent: true }
}

/** The same outside, from another value of the library. */
export function mapped<Out, Wire, In, NewOut, NewIn, S extends Schema>(
  codec: Codec<Out, Wire, In> & { readonly schema: S },
  encode: (value: NewIn) => In,
  decode: (value: Out) => NewOut,
): Codec<NewOut, Wire, NewIn> & { readonly schema: S } {
  return { encode: (value) => codec.encode(encode(value)), decode: (value) => decode(codec.decode(value)), schema: codec.schema }
}

type Field = Codec<unknown, unknown> & {
  readonly wireName?: string
  readonly optional?: true
  readonly orNull?: true
  readonly ifAny?: true
  readonly sent?: true
}
type Fields = Readonly<Record<string, Field>>

type Snake<S extends string> = S extends `${infer First}${infer Rest}`
  ? First extends Lowercase<First>
    ? `${First}${Snake<Rest>}`
    : `_${Lowercase<First>}${Snake<Rest>}`
  : ''
type WireName<K, F> = F extends { readonly wireName: infer N extends string } ? N : K extends string ? Snake<K> : never
type Optional<F extends Fields> = { [K in keyof F]: F[K] extends { readonly optional: true } ? K : never }[keyof F]
type Sent<F extends Fields> = { [K in keyof F]: F[K] extends { readonly sent: true } ? K : never }[keyof F]
type Flat<T> = { readonly [K in keyof T]: T[K] }

type OrNull<F extends Fields> = { [K in keyof F]: F[K] extends { readonly orNull: true } ? K : never }[keyof F]
type Absent<F extends Fields> = Optional<F> | OrNull<F>

type DecodedObject<F extends Fields> = Flat<
  { [K in Exclude<keyof F, Absent<F> | Sent<F>>]: DecodedOf<F[K]> } & {
    [K in Exclude<Absent<F>, Sent<F>>]?: Exclude<DecodedOf<F[K]>, undefined>
  }
>
type EncodedObject<F extends Fields> = Flat<
  { [K in Exclude<keyof F, Absent<F>>]: EncodedOf<F[K]> } & { [K in Absent<F>]?: EncodedOf<F[K]> | undefined }
>
type LeftOut<F extends Fields> = Optional<F> | { [K in keyof F]: F[K] extends { readonly ifAny: true } ? K : never }[keyof F]
type WireObject<F extends Fields> = Flat<
  { [K in Exclude<keyof F, LeftOut<F>> as WireName<K, F[K]>]: WireOf<F[K]> } & {
    [K in LeftOut<F> as WireName<K, F[K]>]?: Exclude<WireOf<F[K]>, undefined>
  }
>

/** An object. JSON has its fields in this order. `name`: of the component in the OpenAPI document. */
export function object<F extends Fields>(
  fields: F,
  { name, description }: { readonly name?: string; readonly description?: string } = {},
): Codec<DecodedObject<F>, WireObject<F>, EncodedObject<F>> & { readonly schema: ObjectSchema } {
  const all = Object.entries(fields).map(([inside, field]) => ({ inside, outside: field.wireName ?? snake(inside), field }))
  const kept = all.filter(({ field }) => field.sent !== true)
  const schema: ObjectSchema = {
    kind: 'object',
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    fields: all.map(({ outside, field }) => ({
      name: outside,
      schema: field.schema,
      optional: field.optional === true || field.ifAny === true,
    })),
  }
  return {
    encode: (value) => {
      const given = value as Readonly<Record<string, unknown>>
      const wire: Record<string, unknown> = {}
      for (const { inside, outside, field } of all) {
        const encoded = given[inside] === undefined && field.optional === true ? undefined : field.encode(given[inside])
        if (encoded !== undefined) wire[outside] = encoded
      }
      return wire as WireObject<F>
    },
    decode: (wire) => {
      if (!isObject(wire)) requireKind(schema, wire)
      const given = wire as Readonly<Record<string, unknown>>
      const value: Record<string, unknown> = {}
      for (const { inside, outside, field } of kept) {
        const one = given[outside]
        const decoded = one === undefined && field.optional === true ? undefined : decodedAt(outside, () => field.decode(one))
        if (decoded !== undefined) value[inside] = decoded
      }
      return value as DecodedObject<F>
    },
    schema,
  }
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
