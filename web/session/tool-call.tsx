/** A call of a tool, folded to a line; opened, what went in and what came out. */
import { memo } from 'react'
import { Icon } from '../shell/icon.tsx'
import { CodeBlock } from './code-block.tsx'
import { LongText } from './long-text.tsx'
import type { TranscriptViewModel } from './transcript-view-model.ts'

type View = ReturnType<TranscriptViewModel['view']>
type Call = View['calls'][number]
type Result = View['results'][number]

interface ToolCallProps {
  readonly call: Call
  readonly result: Result | undefined
  readonly isOpen: boolean
  readonly onToggle: (id: string) => void
}

const PREVIEW = 160

export const ToolCall = memo(function ToolCall({ call, result, isOpen, onToggle }: ToolCallProps) {
  const status = result === undefined ? 'no result' : result.failed ? 'failed' : 'done'
  return (
    <div className={`tool-call${result?.failed === true ? ' failed' : ''}`}>
      <button type="button" aria-expanded={isOpen} onClick={() => onToggle(call.id)}>
        <Icon name={isOpen ? 'down' : 'right'} />
        <b>{call.name}</b>
        <span className="preview mono">{textOf(call.input).slice(0, PREVIEW)}</span>
        <span className="status">{status}</span>
      </button>
      {isOpen && (
        <div className="tool-body">
          <div className="label">Input</div>
          <Value value={call.input} />
          {result !== undefined && (
            <>
              <div className="label">{result.failed ? 'Error' : 'Output'}</div>
              <Value value={result.output} />
            </>
          )}
        </div>
      )}
    </div>
  )
})

/** Results whose call is not here: it lies too far back, or was never made. */
export function LoneResult({ result, isOpen, onToggle }: Omit<ToolCallProps, 'call' | 'result'> & { readonly result: Result }) {
  return (
    <div className={`tool-call${result.failed ? ' failed' : ''}`}>
      <button type="button" aria-expanded={isOpen} onClick={() => onToggle(result.id)}>
        <Icon name={isOpen ? 'down' : 'right'} />
        <b>{result.name ?? 'result'}</b>
        <span className="preview mono">{textOf(result.output).slice(0, PREVIEW)}</span>
        <span className="status">{result.failed ? 'failed' : 'result'}</span>
      </button>
      {isOpen && (
        <div className="tool-body">
          <Value value={result.output} />
        </div>
      )}
    </div>
  )
}

function Value({ value }: { readonly value: unknown }) {
  if (typeof value === 'string') return <LongText text={value} />
  const text = JSON.stringify(value, null, 2) ?? ''
  return text.length > 10_000 ? <LongText text={text} /> : <CodeBlock code={text} language="json" />
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value.slice(0, PREVIEW * 2) : (JSON.stringify(value) ?? '')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a preview is one line of plain text
  return text.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '').replace(/\s+/g, ' ')
}
