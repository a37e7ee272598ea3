/** What can be done with several sessions at once. */
import { useState } from 'react'
import { Dialog } from '../shell/dialog.tsx'
import { counted } from '../shell/format.ts'
import { attempt } from '../shell/notices.tsx'
import { server } from '../shell/server.ts'
import { forEachSession, tagsIn } from './bulk.ts'

export function BulkBar({ selected, onDone }: { readonly selected: ReadonlySet<string>; readonly onDone: () => void }) {
  const [tagging, setTagging] = useState(false)
  const [busy, setBusy] = useState(false)
  const ids = [...selected]
  const those = counted(ids.length, 'session')
  const run = async (work: () => Promise<boolean>): Promise<void> => {
    setBusy(true)
    if (await work()) onDone()
    setBusy(false)
  }
  const remove = (): Promise<boolean> =>
    attempt(
      () => forEachSession(ids, (id) => server.session(id).delete()),
      `Deleted ${those}.`,
      () => forEachSession(ids, (id) => server.session(id).restore()),
    )
  const exportAll = (): Promise<boolean> => attempt(async () => download(ids), `Exporting ${those}.`)
  return (
    <div className="bulk" role="toolbar" aria-label="Selected sessions">
      <b>{those} selected</b>
      <button type="button" disabled={busy} onClick={() => setTagging(true)}>
        Tag…
      </button>
      <button type="button" disabled={busy} onClick={() => void run(exportAll)}>
        Export
      </button>
      <button type="button" className="danger" disabled={busy} onClick={() => void run(remove)}>
        Delete
      </button>
      <button type="button" className="quiet" onClick={onDone}>
        Clear
      </button>
      {tagging && (
        <TagDialog
          those={those}
          onClose={() => setTagging(false)}
          onTags={(added, removed) => {
            setTagging(false)
            const tag = (add: readonly string[], remove_: readonly string[]) => () =>
              forEachSession(ids, (id) => server.session(id).describe({ addTags: add, removeTags: remove_ }))
            void run(() => attempt(tag(added, removed), `Tagged ${those}.`, tag(removed, added)))
          }}
        />
      )}
    </div>
  )
}

function download(ids: readonly string[]): void {
  for (const id of ids) {
    const link = document.createElement('a')
    link.href = `/api/v1/sessions/${encodeURIComponent(id)}/export`
    link.download = `${id}.jsonl`
    link.click()
  }
}

interface TagDialogProps {
  readonly those: string
  readonly onClose: () => void
  readonly onTags: (added: readonly string[], removed: readonly string[]) => void
}

function TagDialog({ those, onClose, onTags }: TagDialogProps) {
  const [text, setText] = useState('')
  const { added, removed } = tagsIn(text)
  return (
    <Dialog title={`Tag ${those}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onTags(added, removed)
        }}
      >
        <label>
          Tags, with spaces between; <code>-tag</code> takes one away
          <input autoFocus value={text} onChange={(event) => setText(event.target.value)} />
        </label>
        <div className="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={added.length + removed.length === 0}>
            Tag
          </button>
        </div>
      </form>
    </Dialog>
  )
}
