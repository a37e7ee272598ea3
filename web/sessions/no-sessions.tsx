/** An empty list teaches how to fill it. */
import { Snippet } from '../shell/snippet.tsx'

export function NoSessions({ isNarrowed, onClear }: { readonly isNarrowed: boolean; readonly onClear: () => void }) {
  if (isNarrowed) {
    return (
      <div className="empty">
        <h2>No session matches these filters</h2>
        <button type="button" onClick={onClear}>
          Clear the filters
        </button>
      </div>
    )
  }
  const { origin } = location
  return (
    <div className="empty">
      <h2>No sessions yet</h2>
      <p>The first message makes one. It appears here as soon as it is on the disk.</p>
      <h3>Over HTTP</h3>
      <Snippet
        label="With curl"
        text={`curl ${origin}/api/v1/sessions/hello/messages \\\n  -H "X-API-Key: $HOLDFAST_KEY" -H "Content-Type: application/json" \\\n  -d '{"role":"user","content":"Hello"}'`}
      />
      <h3>On the command line</h3>
      <Snippet label="On the command line" text={'holdfast append hello "Hello" --role user'} />
      <h3>From a program</h3>
      <Snippet
        label="From a program"
        text={`import { connect } from 'holdfast/client'\n\nconst store = connect('${origin}', { key: process.env.HOLDFAST_KEY })\nconst session = await store.session('hello')\nawait session.append({ role: 'user', content: 'Hello' })`}
      />
      <h3>From other tools</h3>
      <p>Conversations of Claude Code, Codex, OpenViking and others can be brought in; nothing there is touched.</p>
      <Snippet label="Import" text="holdfast import ~/.claude/projects" />
    </div>
  )
}
