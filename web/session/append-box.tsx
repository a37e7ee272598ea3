/** Says something in the session, in somebody's name. */
import { useRef, useState } from 'react'
import { useMayWrite } from '../shell/caller.ts'
import { useShortcuts } from '../shell/keyboard.ts'
import { attempt } from '../shell/notices.tsx'
import { server } from '../shell/server.ts'

const ROLES = ['user', 'assistant', 'system'] as const

export function AppendBox({ id }: { readonly id: string }) {
  const mayWrite = useMayWrite()
  const [role, setRole] = useState<string>('user')
  const [text, setText] = useState('')
  const [busy, setBusy] = useState(false)
  const field = useRef<HTMLTextAreaElement>(null)
  useShortcuts('Write', [{ keys: 'a', about: 'Write a message', run: () => field.current?.focus() }])
  if (!mayWrite) return null
  const send = async (): Promise<void> => {
    if (text.trim() === '') return
    setBusy(true)
    if (await attempt(async () => server.session(id).append({ role, content: text }))) setText('')
    setBusy(false)
    field.current?.focus()
  }
  return (
    <form
      className="append"
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      <select aria-label="As whom" value={role} onChange={(event) => setRole(event.target.value)}>
        {ROLES.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <textarea
        ref={field}
        rows={1}
        aria-label="Message"
        placeholder="Append a message…  (Ctrl Enter sends)"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void send()
          else if (event.key === 'Escape') event.currentTarget.blur()
        }}
      />
      <button type="submit" className="primary" disabled={busy || text.trim() === ''}>
        {busy ? 'Appending…' : 'Append'}
      </button>
    </form>
  )
}
