/** Code, coloured once the colours are there. Languages are loaded when a message first has one. */
import { useEffect, useState } from 'react'
import { Icon } from '../shell/icon.tsx'
import { copy } from '../shell/notices.tsx'

type Tokens = readonly (readonly { readonly content: string; readonly htmlStyle?: string | Record<string, string> }[])[]

/** Longer code stays plain: colouring it would take longer than reading it. */
const LONGEST = 20_000

export function CodeBlock({ code, language }: { readonly code: string; readonly language: string | undefined }) {
  const [tokens, setTokens] = useState<Tokens>()
  useEffect(() => {
    if (language === undefined || code.length > LONGEST) return
    let isOver = false
    void import('./highlight.ts')
      .then(({ highlight }) => highlight(code, language))
      .then((found) => {
        if (!isOver) setTokens(found)
      })
      // Without colours it can be read as well.
      .catch(() => undefined)
    return () => {
      isOver = true
    }
  }, [code, language])
  return (
    <div className="code-block">
      <pre tabIndex={0} role="group" aria-label={language === undefined ? 'code' : `${language} code`}>
        <code>
          {tokens === undefined
            ? code
            : tokens.map((line, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: lines have nothing else to be told apart by, and never move
                <span key={index}>
                  {line.map(({ content, htmlStyle }, place) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: nor have words
                    <span key={place} className="token" style={typeof htmlStyle === 'object' ? htmlStyle : {}}>
                      {content}
                    </span>
                  ))}
                  {index < tokens.length - 1 ? '\n' : ''}
                </span>
              ))}
        </code>
      </pre>
      <button type="button" className="quiet copy" aria-label="Copy the code" onClick={() => void copy(code)}>
        <Icon name="copy" />
      </button>
    </div>
  )
}
