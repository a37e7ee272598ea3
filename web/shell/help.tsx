/** What the keys do here, as they are at this moment. */
import { Dialog } from './dialog.tsx'
import { keyboard } from './keyboard.ts'

export function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose} className="help">
      {keyboard.groups.map(({ name, shortcuts }) => (
        <section key={name}>
          <h3>{name}</h3>
          <dl>
            {shortcuts.map(({ keys, about }) => (
              <div key={keys}>
                <dt>
                  {keys.split(' ').map((key) => (
                    <kbd key={key}>{shown(key)}</kbd>
                  ))}
                </dt>
                <dd>{about}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <p className="dim">
        The interface for programs is told at <a href="/docs">/docs</a>.
      </p>
    </Dialog>
  )
}

const NAMES: Readonly<Record<string, string>> = { ArrowDown: '↓', ArrowUp: '↑', Escape: 'Esc' }

function shown(key: string): string {
  return key.startsWith('mod+') ? `Ctrl ${key.slice(4).toUpperCase()}` : (NAMES[key] ?? key)
}
