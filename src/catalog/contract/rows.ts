/** Rows and texts for the contract's cases: everything that a case does not care about is filled in. */
import type { MessagePut, SessionPut, TextPut } from '../../engine/catalog.ts'

export const SPACE = 'space'

export function row(id: string, given: Partial<SessionPut> = {}): SessionPut {
  const base = {
    ...{
      name: `name of ${id}`,
      basedOn: null,
      mark: { end: 100, crc: 'aaaaaaaa' },
      born: 0,
      rebuilt: false,
      space: SPACE,
      id,
      status: 'ok' as const,
    },
    ...{ title: null, tags: [], owner: null, workspace: null, parent: null, metadata: {}, usage: [] },
    ...{ createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' },
    ...{ live: 1, archived: 0, tokens: 10, bytes: 100, due: false, past: [], tasks: [], summaries: [], retracted: [], erased: [] },
    ...given,
  } as const
  return { ...base, info: given.info ?? { id, tags: base.tags } }
}

/** The row that follows another one. */
export function next(before: SessionPut, given: Partial<SessionPut> = {}): SessionPut {
  const mark = { end: before.mark.end + 100, crc: 'bbbbbbbb' }
  return { ...before, basedOn: before.mark, mark, rebuilt: false, tasks: [], summaries: [], retracted: [], erased: [], ...given }
}

export function message(position: number, text: string, given: Partial<MessagePut> = {}): MessagePut {
  const place = { position, index: 0, source: position, run: 0, depth: position / 10 + 1 }
  return { ...place, role: 'user', at: Date.UTC(2026, 0, 1) + position, archive: null, onBranch: true, text, ...given }
}

export function text(of: SessionPut, messages: readonly MessagePut[], given: Partial<TextPut> = {}): TextPut {
  return {
    name: of.name,
    basedOn: { generation: 0, end: 0 },
    rebuilt: false,
    text: { end: of.mark.end, at: 0, crc: 'cccccccc' },
    branch: [],
    messages,
    left: [],
    back: [],
    archives: [],
    days: [],
    ...given,
  }
}
