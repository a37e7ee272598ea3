/** The schema of an answer, from the description of its resource in src/wire. */
import { z } from '@hono/zod-openapi'
import type { ObjectSchema, Schema } from '../wire/schema.ts'

/** Any JSON. */
export const json = z.json().openapi({ description: 'any JSON', type: ['object', 'array', 'string', 'number', 'boolean', 'null'] })

/**
 * An object with any fields, as it came. `z.record` makes a new object and leaves out a field called `__proto__`, and what a caller sends
 * must be kept as it is.
 */
export const anyObject = z
  .custom<Readonly<Record<string, unknown>>>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
    error: 'Invalid input: expected an object',
  })
  .openapi({ type: 'object', additionalProperties: {} })

/** Each description once: a component of the OpenAPI document has one schema. */
const known = new WeakMap<Schema, z.ZodType>()

export function schemaOf({ schema }: { readonly schema: Schema }): z.ZodType {
  const before = known.get(schema)
  if (before !== undefined) return before
  const made = schema.kind === 'object' ? objectOf(schema) : described(simpleOf(schema), schema)
  known.set(schema, made)
  return made
}

/** The same for an object, to which a route may add fields. */
export function objectSchemaOf({ schema }: { readonly schema: ObjectSchema }): z.ZodObject {
  return schemaOf({ schema }) as z.ZodObject
}

function described(type: z.ZodType, { description }: Schema): z.ZodType {
  return description === undefined ? type : type.openapi({ description })
}

function objectOf({ name, description, fields, open }: ObjectSchema): z.ZodType {
  const shape = fields.map(({ name: field, schema, optional }) => {
    const type = schemaOf({ schema })
    return [field, optional ? described(type.optional(), schema) : type] as const
  })
  const object = open === true ? z.looseObject(Object.fromEntries(shape)) : z.object(Object.fromEntries(shape))
  return name === undefined ? object : object.openapi(name, description === undefined ? {} : { description })
}

function simpleOf(schema: Exclude<Schema, ObjectSchema>): z.ZodType {
  switch (schema.kind) {
    case 'text':
      return z.string()
    case 'time':
      return z.string().openapi({ format: 'date-time' })
    case 'count':
      return z.number().int().min(0)
    case 'number':
      return z.number()
    case 'flag':
      return z.boolean()
    case 'json':
      return json
    case 'one-of':
      return z.enum(schema.values)
    case 'exactly':
      return z.literal(schema.value)
    case 'nullable':
      return schemaOf({ schema: schema.of }).nullable()
    case 'list':
      return z.array(schemaOf({ schema: schema.of }))
    case 'by-name':
      return schema.of.kind === 'json' ? anyObject : z.record(z.string(), schemaOf({ schema: schema.of }))
    case 'pair':
      return z.tuple([schemaOf({ schema: schema.of }), schemaOf({ schema: schema.of })])
    case 'nested':
      return z.lazy(() => schemaOf({ schema: schema.of() })).openapi({ type: 'object' })
  }
}
