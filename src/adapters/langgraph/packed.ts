/** Values as the serialiser of LangGraph writes them: readable where that is JSON, and exactly as it wrote them otherwise. */
import type { SerializerProtocol } from '@langchain/langgraph-checkpoint'
import type { Json } from '../../record/record.ts'

export type Packed = { readonly json: Json } | { readonly type: string; readonly base64: string }

export async function pack(serde: SerializerProtocol, value: unknown): Promise<Packed> {
  const [type, bytes] = await serde.dumpsTyped(value)
  if (type !== 'json') return { type, base64: Buffer.from(bytes).toString('base64') }
  return { json: JSON.parse(Buffer.from(bytes).toString()) as Json }
}

export async function unpack<T>(serde: SerializerProtocol, packed: Packed): Promise<T> {
  if ('base64' in packed) return (await serde.loadsTyped(packed.type, new Uint8Array(Buffer.from(packed.base64, 'base64')))) as T
  return (await serde.loadsTyped('json', JSON.stringify(packed.json))) as T
}
