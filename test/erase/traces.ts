/** Looking for what must be gone: as it was said, as JSON writes it, once and twice, and in base64 at each of the three places that a byte can have in it. */
import { filesOf } from '../store/files-of.ts'

export function formsOf(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1)
  const base64 = [0, 1, 2].map((offset) => {
    const bytes = Buffer.from(`${'x'.repeat(offset)}${text}`)
    // All characters that the text alone decides: fewer, and ciphertext would have them by chance.
    return bytes.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6))
  })
  return [text, json, JSON.stringify(json).slice(1, -1), ...base64, ...base64.map((one) => one.replaceAll('+', '-').replaceAll('/', '_'))]
}

/** The files of a store, and of a word each form that was found in them. */
export function tracesOf(directory: string, ...words: readonly string[]): string[] {
  const forms = words.flatMap(formsOf)
  return filesOf(directory).flatMap(({ path, bytes }) =>
    forms.filter((form) => bytes.includes(form)).map((form) => `${path.slice(directory.length + 1)}: ${form}`),
  )
}
