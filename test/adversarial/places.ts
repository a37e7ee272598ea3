/**
 * The places of a request that take a text, found in the schema of its query or its body. A schema of a kind that is not known here is an
 * error, so that no route takes a text that these tests do not send.
 */
import type { z } from '@hono/zod-openapi'
import { Message } from '../../src/server/schemas.ts'

/** A value with a text in one place; everything that is required elsewhere is small and valid. */
export interface Place {
  /** The names of the fields that lead there, such as `messages[].content`. */
  readonly path: string
  fill(text: string): unknown
  /** The text becomes the items of a list, so its parts should differ. */
  readonly isList?: boolean
}

/** A message, which is also valid where a schema admits any object. */
const ANY_OBJECT = { role: 'user', content: 'x' }

/** A message for each place where readers of messages find a text. */
const MESSAGES: Readonly<Record<string, (text: string) => object>> = {
  '.role': (text) => ({ role: text, content: 'x' }),
  '.content': (text) => ({ role: 'user', content: text }),
  '.content[].text': (text) => ({ role: 'user', content: [{ type: 'text', text }] }),
  '.content[].type': (text) => ({ role: 'user', content: [{ type: text, text: 'x' }] }),
  '.content[].input': (text) => ({ role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'n', input: { text } }] }),
  '.content[].content': (text) => ({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: text }] }),
  '.parts[].text': (text) => ({ role: 'user', parts: [{ type: 'text', text }] }),
  '.parts[].tool_output': (text) => ({
    role: 'assistant',
    parts: [{ type: 'tool', tool_id: 't', tool_name: 'n', tool_input: {}, tool_output: text }],
  }),
  '.tool_calls[].function.arguments': (text) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 't', type: 'function', function: { name: 'n', arguments: text } }],
  }),
  '.id': (text) => ({ role: 'user', content: 'x', id: text }),
  '.created_at': (text) => ({ role: 'user', content: 'x', created_at: text }),
  '.{name}': (text) => ({ role: 'user', content: 'x', [text]: 1 }),
}

/** Objects with fields of any name. */
const OBJECTS: Readonly<Record<string, (text: string) => object>> = {
  '.{name}': (text) => ({ [text]: 1 }),
  '.{value}': (text) => ({ field: text }),
}

/** So many characters of a text become one item of a list. */
const ITEM_LENGTH = 20

type Definition = z.core.$ZodTypes['_zod']['def']

function definitionOf(schema: z.core.$ZodType): Definition {
  return (schema as z.core.$ZodTypes)._zod.def
}

/** A small value that the schema admits. */
export function smallest(schema: z.core.$ZodType): unknown {
  if (schema === Message) return ANY_OBJECT
  const definition = definitionOf(schema)
  switch (definition.type) {
    case 'string':
      return 'x'
    case 'number':
      return 1
    case 'boolean':
      return false
    case 'enum':
      return Object.values(definition.entries)[0]
    case 'literal':
      return definition.values[0]
    case 'object':
      return smallestObject(definition.shape)
    case 'array':
      return [smallest(definition.element)]
    case 'union':
      return smallest(definition.options[0] as z.core.$ZodType)
    case 'pipe':
      return smallest(definition.in)
    case 'optional':
    case 'default':
      return undefined
    case 'nullable':
      return null
    case 'custom':
      return ANY_OBJECT
    case 'lazy':
    case 'unknown':
      return 'x'
    default:
      throw unknownKind(definition)
  }
}

function smallestObject(shape: Readonly<Record<string, z.core.$ZodType>>): Record<string, unknown> {
  const fields = Object.entries(shape).map(([name, schema]) => [name, smallest(schema)] as const)
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined))
}

/** A field that takes one of several words, with one of them. */
export interface Choice {
  readonly field: string
  readonly value: string
}

/** Every choice that a query has. */
export function choicesIn({ shape }: z.ZodObject): Choice[] {
  return Object.entries(shape).flatMap(([field, schema]) => wordsOf(schema).map((value) => ({ field, value })))
}

function wordsOf(schema: z.core.$ZodType): string[] {
  const definition = definitionOf(schema)
  if (definition.type === 'enum') return Object.values(definition.entries).map(String)
  if (definition.type === 'optional' || definition.type === 'default') return wordsOf(definition.innerType)
  return definition.type === 'pipe' ? wordsOf(definition.in) : []
}

/** Every place of a value of this schema that takes a text. */
export function placesIn(schema: z.core.$ZodType): Place[] {
  if (schema === Message) return objectPlacesOf(MESSAGES)
  const definition = definitionOf(schema)
  switch (definition.type) {
    case 'string':
    case 'enum':
      return [{ path: '', fill: (text) => text }]
    case 'number':
    case 'boolean':
    case 'literal':
      return []
    case 'object':
      return objectPlaces(definition)
    case 'array':
      return listPlaces(definition.element)
    case 'union':
      return definition.options.flatMap((option) => placesIn(option))
    case 'pipe':
      return placesIn(definition.in)
    case 'optional':
    case 'default':
    case 'nullable':
      return placesIn(definition.innerType)
    case 'custom':
      return objectPlacesOf(OBJECTS)
    case 'lazy':
    case 'unknown':
      return [{ path: '', fill: (text) => text }, ...objectPlacesOf(OBJECTS)]
    default:
      throw unknownKind(definition)
  }
}

function objectPlaces({ shape, catchall }: z.core.$ZodObjectDef): Place[] {
  const base = smallestObject(shape)
  const places = Object.entries(shape).flatMap(([name, schema]) =>
    placesIn(schema).map((place) => ({
      ...place,
      path: `.${name}${place.path}`,
      fill: (text: string) => ({ ...base, [name]: place.fill(text) }),
    })),
  )
  if (catchall === undefined) return places
  return [...places, { path: '.{name}', fill: (text) => ({ ...base, [text]: 'x' }) }]
}

/** One item with the text, and many items that have a part of it each. */
function listPlaces(element: z.core.$ZodType): Place[] {
  return placesIn(element).flatMap(({ path, fill, isList }) => [
    { path: `[]${path}`, fill: (text: string) => [fill(text)], ...(isList === true ? { isList } : {}) },
    ...(isList === true ? [] : [{ path: `[...]${path}`, fill: (text: string) => cut(text).map(fill), isList: true }]),
  ])
}

function cut(text: string): string[] {
  return Array.from({ length: Math.ceil(text.length / ITEM_LENGTH) }, (_, i) => text.slice(i * ITEM_LENGTH, (i + 1) * ITEM_LENGTH))
}

function objectPlacesOf(objects: Readonly<Record<string, (text: string) => object>>): Place[] {
  return Object.entries(objects).map(([path, fill]) => ({ path, fill }))
}

function unknownKind({ type }: Definition): Error {
  return new Error(`A schema of the kind "${type}" takes a text in places that are not known. Add the kind to ${import.meta.url}.`)
}
