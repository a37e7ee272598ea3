/** What went wrong with something that is shown here, and nothing if nothing did. */
import { messageOf } from './message-of.ts'

export function Problem({ error }: { readonly error: unknown }) {
  if (error === null || error === undefined) return null
  return (
    <p className="problem" role="alert">
      {messageOf(error)}
    </p>
  )
}
