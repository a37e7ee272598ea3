/** One message: who said it, when, and what; with what can be done from here. */
import { ago, longTime } from '../shell/format.ts'
import { Icon } from '../shell/icon.tsx'
import { copy } from '../shell/notices.tsx'
import { Picture, Prose } from './markdown.tsx'
import { picturesOf } from './media.ts'
import { LoneResult, ToolCall } from './tool-call.tsx'
import type { StoredMessage, TranscriptViewModel } from './transcript-view-model.ts'

export interface MessageDeeds {
  readonly link: (id: string) => void
  readonly fork?: (id: string) => void
  readonly revert?: (id: string) => void
  readonly raw?: (message: StoredMessage) => void
  readonly erase?: (message: StoredMessage) => void
}

interface MessageProps {
  readonly message: StoredMessage
  readonly viewModel: TranscriptViewModel
  readonly folds: Folds
  readonly deeds: MessageDeeds
  readonly isTarget: boolean
}

/** What was opened stays open while it is out of sight. */
export interface Folds {
  has(key: string): boolean
  toggle(key: string): void
}

/** Roles may be anything, and as long as anybody likes. */
const LONGEST_ROLE = 24

export function MessageRow({ message, viewModel, folds, deeds, isTarget }: MessageProps) {
  if (!isTarget && viewModel.isShownElsewhere(message)) return <div className="elsewhere" />
  const view = viewModel.view(message)
  const role = view.role ?? String(message.message.role ?? message.message.type ?? 'message').slice(0, LONGEST_ROLE)
  const { id, at } = message
  const alone = view.results.filter(({ id: call }) => !view.calls.some((one) => one.id === call))
  const pictures = picturesOf(message.message)
  const reasoning = `${id} reasoning`
  const toggle = (call: string): void => folds.toggle(`${id} ${call}`)
  return (
    <article className={`message ${view.role ?? 'other'}${isTarget ? ' target' : ''}`} data-message={id} aria-label={`${role}, ${ago(at)}`}>
      <header>
        <span className="role">{role}</span>
        <time className="dim" dateTime={at} title={longTime(at)}>
          {ago(at)}
        </time>
        {message.erased === true && <span className="badge">erased</span>}
        {message.replaced && <span className="badge">edited</span>}
        <span className="deeds">
          {view.text !== '' && <Deed icon="copy" label="Copy the text" onClick={() => void copy(view.text)} />}
          <Deed icon="link" label="Copy a link to this message" onClick={() => deeds.link(id)} />
          {deeds.fork !== undefined && <Deed icon="fork" label="Fork from here" onClick={() => deeds.fork?.(id)} />}
          {deeds.revert !== undefined && <Deed icon="undo" label="Revert to here" onClick={() => deeds.revert?.(id)} />}
          {deeds.raw !== undefined && <Deed icon="code" label="Show the raw record" onClick={() => deeds.raw?.(message)} />}
          {deeds.erase !== undefined && message.erased !== true && (
            <Deed icon="erase" label="Erase for ever…" onClick={() => deeds.erase?.(message)} />
          )}
        </span>
      </header>
      {view.reasoning !== '' && (
        <div className="reasoning">
          <button type="button" className="quiet" aria-expanded={folds.has(reasoning)} onClick={() => folds.toggle(reasoning)}>
            <Icon name={folds.has(reasoning) ? 'down' : 'right'} /> Reasoning
          </button>
          {folds.has(reasoning) && <Prose text={view.reasoning} />}
        </div>
      )}
      {view.text !== '' && <Prose text={view.text} />}
      {pictures.map((source) => (
        <Picture key={source.slice(0, 200)} source={source} about="a picture of this message" />
      ))}
      {pictures.length === 0 &&
        view.media.map((address) => (
          <span key={address} className="badge">
            {address.slice(0, 80)}
          </span>
        ))}
      {view.calls.map((call) => (
        <ToolCall key={call.id} call={call} result={viewModel.resultOf(call.id)} isOpen={folds.has(`${id} ${call.id}`)} onToggle={toggle} />
      ))}
      {alone.map((result) => (
        <LoneResult key={result.id} result={result} isOpen={folds.has(`${id} ${result.id}`)} onToggle={toggle} />
      ))}
      {isBlank(view) && <p className="dim">This message has no text. Its raw record shows what it has.</p>}
    </article>
  )
}

function isBlank({ text, reasoning, calls, results, media }: ReturnType<TranscriptViewModel['view']>): boolean {
  return text === '' && reasoning === '' && calls.length + results.length + media.length === 0
}

interface DeedProps {
  readonly icon: 'copy' | 'link' | 'fork' | 'undo' | 'code' | 'erase'
  readonly label: string
  readonly onClick: () => void
}

function Deed({ icon, label, onClick }: DeedProps) {
  return (
    <button type="button" className="quiet" aria-label={label} title={label} onClick={onClick}>
      <Icon name={icon} />
    </button>
  )
}
