/** What files may be sources, by their names. */

const LOG = /\.(?:jsonl|json|ndjson)(?:\.(?:zst|gz))?$/i
/** What an interrupted save leaves: the name of the file, and behind or in front of it something of its own. */
const ORPHAN = /\.(?:jsonl|json)(?:\.[\w-]+)?\.tmp$|\.(?:jsonl|json)\.tmp[\w.-]*$/i
const ARCHIVE = /^history\/archive_\d+\//

export function isLog(name: string): boolean {
  return LOG.test(name) && !isOrphan(name)
}

export function isOrphan(name: string): boolean {
  return ORPHAN.test(name)
}

/** Whether a directory is one session, by the paths of what is in it. */
export function isSessionDirectory(paths: readonly string[]): boolean {
  return paths.some((path) => path === 'messages.jsonl' || ARCHIVE.test(path))
}
