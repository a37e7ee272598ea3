/** Names that only the outside uses. Inside, an archive is a number; clients know it as `archive_001`, and sessions by an address. */

export function archiveName(number: number): string {
  return `archive_${String(number).padStart(3, '0')}`
}

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

/** Times of tasks are seconds since 1970, as clients have them. */
export function secondsOf(time: string): number {
  return Date.parse(time) / 1000
}

export function timeOf(seconds: number): string {
  return new Date(Math.round(seconds * 1000)).toISOString()
}
