/** Where somebody without a cookie lands: the link that the server printed, or a key. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { messageOf } from './message-of.ts'
import { serverLink } from './server.ts'

export function SignIn() {
  const queries = useQueryClient()
  const [key, setKey] = useState('')
  const [problem, setProblem] = useState('')
  const [busy, setBusy] = useState(false)
  const submit = async (): Promise<void> => {
    setBusy(true)
    setProblem('')
    try {
      await serverLink.signIn(key)
      await queries.resetQueries()
    } catch (error) {
      setProblem(messageOf(error))
    } finally {
      setBusy(false)
    }
  }
  return (
    <main id="main" className="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <h1>Sign in</h1>
        <p>
          Open the link that <code>holdfast serve</code> printed when it started. It works once. Or paste a key here:
        </p>
        <label htmlFor="key">Key</label>
        <input
          id="key"
          type="password"
          autoComplete="current-password"
          placeholder="hf_…"
          value={key}
          required
          onChange={(event) => setKey(event.target.value)}
        />
        {problem !== '' && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" className="primary" disabled={busy || key.trim() === ''}>
          {busy ? 'Signing in…' : 'Sign in'}
        </button>
        <details>
          <summary>No key?</summary>
          <p>On the machine of the server, make one for the web page:</p>
          <pre tabIndex={0}>holdfast keys create --scope write --name web</pre>
          <p>The browser keeps a cookie that scripts cannot read, not the key.</p>
        </details>
      </form>
    </main>
  )
}
