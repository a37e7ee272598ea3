import type { RemoteSession } from 'holdfast/client'

type Read = Pick<RemoteSession, 'info' | 'messages'>

/** How many messages two sessions share: a fork has those of its parent, with their ids, up to where it was made. */
export async function partingOf(one: Read, other: Read): Promise<number> {
  const [{ totalMessageCount: first }, { totalMessageCount: second }] = await Promise.all([one.info(), other.info()])
  const idAt = async (session: Read, depth: number) => (await session.messages({ archived: true, depth, limit: 1 })).messages[0]?.id
  let [low, high] = [0, Math.min(first, second)]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const [a, b] = await Promise.all([idAt(one, middle), idAt(other, middle)])
    if (a !== undefined && a === b) low = middle
    else high = middle - 1
  }
  return low
}
