import { type DamagedPlace, distinctPlaces, type RemoteSession } from 'holdfast/client'

/** Messages that one request reads. */
const PAGE = 1000

/** Every damaged place of a session. Reads the whole session, as only a complete read finds them all. */
export async function readDamage(session: Pick<RemoteSession, 'messages'>): Promise<readonly DamagedPlace[]> {
  const damage: DamagedPlace[] = []
  for (let after: string | undefined; ; ) {
    const where = after === undefined ? { from: 'start' as const } : { after }
    const page = await session.messages({ ...where, archived: true, limit: PAGE })
    damage.push(...page.damage)
    after = page.messages.at(-1)?.id
    if (!page.more || after === undefined) return distinctPlaces(damage)
  }
}
