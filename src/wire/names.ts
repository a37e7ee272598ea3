/** Names that only the outside uses. Inside, an archive is a number; clients know it as `archive_001`, and sessions by an address. */
import { as, decimal, described, mapped, nullable, sent, text } from './codec.ts'

export function archiveName(number: number): string {
  return `archive_${String(number).padStart(3, '0')}`
}

/** An archive by its number inside, by its name outside. */
export const archiveIdCodec = mapped(text, archiveName, (name) => archiveNumber(name) ?? 0)

/** The number of an archive, from its name or as it is; undefined if it is neither. */
export function archiveNumber(name: string): number | undefined {
  const [, digits] = /^(?:archive_)?(\d{1,15})$/.exec(name) ?? []
  return digits === undefined ? undefined : Number(digits)
}

export function sessionUri(session: string, user = 'default'): string {
  return `viking://user/${user}/sessions/${session}`
}

export function archiveUri(session: string, archive: number, user?: string): string {
  return `${sessionUri(session, user)}/history/${archiveName(archive)}`
}

/** The cursor of the next page, in a result that is an object. The client reads the header, which every page has. */
export const nextCursor = sent(as('next_cursor', described(nullable(text), 'where the next page begins; null on the last page')))

/** Times of tasks are seconds since 1970, as clients have them. */
export const secondsCodec = mapped(
  decimal,
  (time: string) => Date.parse(time) / 1000,
  (seconds) => new Date(Math.round(seconds * 1000)).toISOString(),
)
