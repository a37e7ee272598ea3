/** Everything that can be done with a session as a whole. */
import { useQueryClient } from '@tanstack/react-query'
import { DropdownMenu } from 'radix-ui'
import { type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import type { SessionInfo } from '../sessions/sessions-view-model.ts'
import { useCaller, useMayWrite } from '../shell/caller.ts'
import { counted, sessionPath } from '../shell/format.ts'
import { Icon } from '../shell/icon.tsx'
import { useShortcuts } from '../shell/keyboard.ts'
import { attempt, copy, notify } from '../shell/notices.tsx'
import { server } from '../shell/server.ts'
import { DestroyKeyDialog } from './destroy-key-dialog.tsx'
import { ShareDialog } from './share-dialog.tsx'
import { SnapshotsDialog } from './snapshots-dialog.tsx'

const FORMATS = {
  jsonl: 'JSON lines, everything',
  markdown: 'Markdown',
  html: 'HTML',
  openai: 'OpenAI messages',
  anthropic: 'Anthropic messages',
} as const

export function ActionsMenu({ id, info }: { readonly id: string; readonly info: SessionInfo | undefined }) {
  const queries = useQueryClient()
  const mayWrite = useMayWrite()
  const { data: caller } = useCaller()
  const [, go] = useLocation()
  const [dialog, setDialog] = useState<'share' | 'snapshots' | 'key'>()
  const refresh = () => queries.invalidateQueries({ queryKey: ['session', id] })
  const commit = (): void =>
    void attempt(async () => {
      const committed = await server.session(id).commit()
      if (committed.status === 'skipped') notify('Nothing to commit: every message is in an archive already.')
      else {
        const { archive, messageCount, task } = committed
        notify(`Archive ${archive} took ${counted(messageCount, 'message')}.`)
        // The header tells of one that fails.
        const completed = task.completed().then(() => notify(`Archive ${archive} is complete.`))
        void completed.catch(() => undefined).finally(refresh)
      }
      await refresh()
    })
  const undo = (): void =>
    void attempt(async () => {
      await server.session(id).undo()
      await refresh()
    }, 'The last revert was undone.')
  const fork = (): void =>
    void attempt(async () => {
      const forked = await server.session(id).fork()
      go(sessionPath(forked.id))
      notify('This is the fork. It shares everything up to now.')
    })
  const remove = async (): Promise<void> => {
    const restore = async (): Promise<void> => {
      await server.session(id).restore()
      await refresh()
    }
    if (await attempt(async () => server.session(id).delete(), 'Deleted. It can be restored until it is purged.', restore)) go('/')
  }
  useShortcuts('Act', [
    ...(mayWrite ? [{ keys: 'c', about: 'Commit', run: commit }] : []),
    ...(mayWrite ? [{ keys: 's', about: 'Share', run: () => setDialog('share') }] : []),
  ])
  return (
    <div className="actions">
      {mayWrite && (
        <>
          <button type="button" onClick={commit} title="Move what is live into an archive, with a summary (c)">
            Commit
          </button>
          <button type="button" onClick={() => setDialog('share')}>
            Share
          </button>
        </>
      )}
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger asChild>
          <button type="button" aria-label="More actions">
            <Icon name="more" />
          </button>
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal container={document.getElementById('main')}>
          <DropdownMenu.Content className="menu" align="end" sideOffset={4}>
            {mayWrite && (
              <>
                <Item onSelect={fork}>Fork from the end</Item>
                <Item onSelect={() => setDialog('snapshots')}>Snapshots and reverts…</Item>
                <Item onSelect={undo} isOff={info?.canUndo !== true}>
                  Undo the last revert
                </Item>
                <DropdownMenu.Separator />
              </>
            )}
            {Object.entries(FORMATS).map(([format, about]) => (
              <DropdownMenu.Item key={format} asChild>
                <a href={`/api/v1/sessions/${encodeURIComponent(id)}/export?format=${format}`} download={`${id}.${format}`}>
                  Export: {about}
                </a>
              </DropdownMenu.Item>
            ))}
            <DropdownMenu.Separator />
            {commandsFor(id).map(([about, command]) => (
              <Item key={about} onSelect={() => void copy(command, `Copied: ${command}`)}>
                Copy the command to {about}
              </Item>
            ))}
            {mayWrite && (
              <>
                <DropdownMenu.Separator />
                <Item className="danger" onSelect={() => void remove()}>
                  Delete
                </Item>
              </>
            )}
            {caller?.scope === 'admin' && caller.encrypted && (
              <Item className="danger" onSelect={() => setDialog('key')}>
                Destroy its key…
              </Item>
            )}
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      {dialog === 'share' && <ShareDialog id={id} info={info} onClose={() => setDialog(undefined)} />}
      {dialog === 'snapshots' && <SnapshotsDialog id={id} info={info} onClose={() => setDialog(undefined)} />}
      {dialog === 'key' && <DestroyKeyDialog id={id} onClose={() => setDialog(undefined)} />}
    </div>
  )
}

interface ItemProps {
  readonly onSelect: () => void
  readonly isOff?: boolean
  readonly className?: string
  readonly children: ReactNode
}

function Item({ onSelect, isOff = false, className = '', children }: ItemProps) {
  return (
    <DropdownMenu.Item className={className} disabled={isOff} onSelect={onSelect}>
      {children}
    </DropdownMenu.Item>
  )
}

/** As a shell takes them, against the server that this page came from. */
function commandsFor(id: string): [about: string, command: string][] {
  const word = `'${id.replaceAll("'", "'\\''")}'`
  const store = `--store ${location.origin}`
  return [
    ['resume it', `holdfast window ${word} --budget 128000 --format openai ${store}`],
    ['follow it', `holdfast show ${word} --follow ${store}`],
    ['export it', `holdfast export ${word} --format jsonl ${store}`],
  ]
}
