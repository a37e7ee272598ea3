/** Text as it is, which may be megabytes of anything: the beginning of it, more on demand, control characters made visible. */
import { useState } from 'react'
import { bytes } from '../shell/format.ts'
import { copy } from '../shell/notices.tsx'

const BEGINNING = 4000
const MORE = 200_000

export function LongText({ text }: { readonly text: string }) {
  const [shown, setShown] = useState(BEGINNING)
  const rest = text.length - shown
  return (
    <div className="long-text">
      <pre tabIndex={0} role="group" aria-label="Text" dir="auto">
        {visible(text.slice(0, shown))}
      </pre>
      {rest > 0 && (
        <div className="more">
          <span className="dim">{bytes(rest)} more</span>
          {shown < MORE && (
            <button type="button" onClick={() => setShown(Math.min(text.length, MORE))}>
              Show {text.length > MORE ? `the first ${bytes(MORE)}` : 'all'}
            </button>
          )}
          <button type="button" onClick={() => void copy(text)}>
            Copy all
          </button>
        </div>
      )}
    </div>
  )
}

/** Colours of a terminal are left out; other control characters are shown by the signs that Unicode has for them. */
function visible(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, (sign) => String.fromCharCode(0x2400 + sign.charCodeAt(0)))
      .replace(/\r\n?/g, '\n')
  )
}
