/** Something to copy. */
import { Icon } from './icon.tsx'
import { copy } from './notices.tsx'

export function Snippet({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <div className="snippet">
      <pre tabIndex={0} role="group" aria-label={label}>
        {text}
      </pre>
      <button type="button" className="quiet" aria-label={`Copy: ${label}`} onClick={() => void copy(text)}>
        <Icon name="copy" />
      </button>
    </div>
  )
}
