/** One field from which everything is reached: pages, commands of what is open, and sessions by title or id. */
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { Dialog } from './dialog.tsx'
import { sessionPath } from './format.ts'
import { keyboard } from './keyboard.ts'
import { server } from './server.ts'

interface Command {
  readonly id: string
  readonly label: string
  readonly hint: string
  readonly run: () => void
}

export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [, go] = useLocation()
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const { data: found } = useQuery({
    queryKey: ['palette', text],
    queryFn: () => server.list({ query: text, limit: 8 }),
    placeholderData: (before) => before,
  })
  // What the keys do when it opens: the dialog itself adds none.
  const known = useMemo(() => keyboard.groups, [])
  const commands: Command[] = [
    ...known.flatMap(({ name, shortcuts }) =>
      shortcuts
        .filter(({ keys, about }) => keys !== 'mod+k' && about.toLowerCase().includes(text.toLowerCase()))
        .map(({ keys, about, run }) => ({ id: `key ${name} ${keys}`, label: about, hint: keys.replace('mod+', 'Ctrl '), run })),
    ),
    ...(found?.sessions ?? []).map(({ id, title }) => ({
      id: `session ${id}`,
      label: title ?? id,
      hint: 'session',
      run: () => go(sessionPath(id)),
    })),
  ]
  const chosen = Math.min(active, commands.length - 1)
  const run = (command: Command | undefined): void => {
    if (command === undefined) return
    onClose()
    // Behind the closing: what it does may want the focus.
    setTimeout(command.run)
  }
  const move = (by: number): void => {
    const next = (chosen + by + commands.length) % Math.max(commands.length, 1)
    setActive(next)
    document.getElementById(`palette-${next}`)?.scrollIntoView({ block: 'nearest' })
  }
  return (
    <Dialog title="Go to" onClose={onClose} className="palette">
      <input
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`palette-${chosen}`}
        aria-label="Command or session"
        placeholder="Command or session…"
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setActive(0)
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') move(1)
          else if (event.key === 'ArrowUp') move(-1)
          else if (event.key === 'Enter') run(commands[chosen])
          else return
          event.preventDefault()
        }}
      />
      <div role="listbox" id="palette-list" aria-label="Matches" tabIndex={-1}>
        {commands.map((command, index) => (
          <div
            key={command.id}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => run(command)}
            onKeyDown={(event) => event.key === 'Enter' && run(command)}
          >
            <span>{command.label}</span>
            <span className="dim">{command.hint}</span>
          </div>
        ))}
        {commands.length === 0 && <p className="dim">Nothing matches. The Sessions page searches what was said.</p>}
      </div>
    </Dialog>
  )
}
