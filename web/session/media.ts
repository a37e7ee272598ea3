/** Pictures of a message, whatever shape it has: a part names one by an address, or holds it. */
type Part = Readonly<Record<string, unknown>>

export function picturesOf(message: object): string[] {
  const { content, parts: others } = message as Part
  const parts = [content, others].flatMap((value) => (Array.isArray(value) ? (value as Part[]) : []))
  return parts.flatMap((part) => (typeof part === 'object' && part !== null ? pictureOf(part) : []))
}

function pictureOf(part: Part): string[] {
  const source = part.source as Part | undefined
  const held = source?.type === 'base64' ? `data:${source.media_type};base64,${source.data}` : undefined
  const named = [held, (part.image_url as Part | undefined)?.url, part.image_url, part.image, source?.url]
  const address = named.find((value) => typeof value === 'string')
  if (typeof address !== 'string' || !/image/.test(String(part.type))) return []
  return [address]
}
