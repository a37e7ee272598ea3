/** What files may be sources, by their names. */

const LOG = /\.(?:jsonl|json|ndjson)(?:\.(?:zst|gz))?$/i
/** What an interrupted save leaves: the name of the file, and behind or in front of it something of its own. */
const ORPHAN = /\.(?:jsonl|json)(?:\.[\w-]+)?\.tmp$|\.(?:jsonl|json)\.tmp[\w.-]*$/i
const ARCHIVE = /(?<=^|\/)history\/archive_\d+\//g

export function isLog(name: string): boolean {
  return LOG.test(name) && !isOrphan(name)
}

export function isOrphan(name: string): boolean {
  return ORPHAN.test(name)
}

/** Whether a directory is one session, by the paths of what is in it. */
export function isSessionDirectory(paths: readonly string[]): boolean {
  return paths.some((path) => sessionDirectoriesOf(path).includes(''))
}

/** The directories that are sessions because this file is in them. */
export function sessionDirectoriesOf(path: string): string[] {
  const before = (end: number): string => path.slice(0, Math.max(0, end - 1))
  const found = [...path.matchAll(ARCHIVE)].map(({ index }) => before(index))
  const name = path.lastIndexOf('/') + 1
  return path.slice(name) === 'messages.jsonl' ? [...found, before(name)] : found
}

/** The directories above a file, the outermost one first: that of the archive is ''. */
export function directoriesAbove(path: string): string[] {
  const found = ['']
  for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) found.push(path.slice(0, end))
  return found
}

/** A segment of a Holdfast journal, by the name of its file. */
const SEGMENT = /^\d{16}\.jsonl$/
/** The directory of a journal inside the directory of its space. */
const IN_SPACE = /(?:^|\/)[0-9a-f]{2}\/[a-z0-9-]{0,24}-[0-9a-f]{32}$/

/** The first position that a segment of a journal holds, by its name; undefined if the file is none. */
export function firstPosition(path: string): number | undefined {
  const name = path.split('/').at(-1) ?? path
  return SEGMENT.test(name) ? Number(name.slice(0, 16)) : undefined
}

/** The directory with everything that belongs together with a segment: that of its space, so that a fork finds its parent, else that of its journal. */
export function journalsDirectory(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/'))).replace(IN_SPACE, '')
}
