/** What the files of a journal are called. They lie under `sessions/`, in a directory that is named like the journal. */

export function segmentFile(first: number): string {
  return `${String(first).padStart(16, '0')}.jsonl`
}

export function idFile(first: number): string {
  return `${String(first).padStart(16, '0')}.ids`
}

/** The first position that a file's name says, if it is of that kind. */
export function firstOf(file: string, kind: 'jsonl' | 'ids'): number | undefined {
  const match = /^(\d{16})\.(jsonl|ids)$/.exec(file)
  return match?.[2] === kind ? Number(match[1]) : undefined
}
