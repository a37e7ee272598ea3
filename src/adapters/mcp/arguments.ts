/** The arguments of tools and prompts: an unknown name is refused, since a model that misspells an argument would get the answer to another question. */
import { z } from 'zod'

/** An object with these arguments and no others. The error for any other lists those that there are. */
export function argumentsOf<S extends z.ZodRawShape>(shape: S): z.ZodObject<S, z.core.$strict> {
  const names = Object.keys(shape)
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return undefined
      const unknown = issue.keys.map((name) => JSON.stringify(name)).join(', ')
      return `Unknown argument ${unknown}. The arguments are ${names.join(', ')}.`
    },
  })
}
