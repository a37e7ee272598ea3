import type { Description } from '../session/records.ts'

/** What a session is called, as a body has it; the names are the same. */
export function descriptionFields({ title, tags, owner, workspace, metadata, policies }: Description): object {
  return { title, tags, owner, workspace, metadata, policies }
}
