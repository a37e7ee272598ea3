/** Markdown as others wrote it: HTML in it is text, links lead out safely, and a picture from elsewhere is asked for only after a click. */
import { memo, type ReactNode, useState } from 'react'
import Markdown, { type Components, defaultUrlTransform } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { CodeBlock } from './code-block.tsx'
import { LongText } from './long-text.tsx'

/** Longer texts are shown as they are: working out their shape would hold up the page. */
const LONGEST = 40_000

export const Prose = memo(function Prose({ text }: { readonly text: string }) {
  if (text.length > LONGEST) return <LongText text={text} />
  return (
    <div className="prose" dir="auto">
      <Markdown remarkPlugins={PLUGINS} components={COMPONENTS} urlTransform={transform}>
        {text}
      </Markdown>
    </div>
  )
})

const PLUGINS = [remarkGfm]

/** Pictures that are part of the message need nobody. */
function transform(url: string, key: string): string {
  return key === 'src' && isInline(url) ? url : defaultUrlTransform(url)
}

function isInline(url: string): boolean {
  return /^data:image\/(?:png|jpeg|gif|webp|avif);base64,/i.test(url)
}

const COMPONENTS: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  ),
  img: ({ src, alt }) => <Picture source={typeof src === 'string' ? src : ''} about={alt ?? ''} />,
  pre: ({ children }) => <>{children}</>,
  code: ({ className, children }) => {
    const text = textOf(children)
    const language = /language-([\w+#-]+)/.exec(className ?? '')?.[1]
    const isBlock = language !== undefined || text.includes('\n')
    return isBlock ? <CodeBlock code={text.replace(/\n$/, '')} language={language?.toLowerCase()} /> : <code>{children}</code>
  },
  table: ({ children }) => (
    <div className="table" tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  input: ({ checked }) => (
    <span role="img" aria-label={checked === true ? 'done' : 'open'}>
      {checked === true ? '☑' : '☐'}
    </span>
  ),
  // Headings of a message are no headings of the page.
  ...Object.fromEntries(
    ([1, 2, 3, 4, 5, 6] as const).map((level) => [
      `h${level}`,
      ({ children }: { readonly children?: ReactNode }) => <p className={`heading heading-${level}`}>{children}</p>,
    ]),
  ),
}

function textOf(children: ReactNode): string {
  if (typeof children === 'string') return children
  return Array.isArray(children) ? children.map(textOf).join('') : ''
}

/** A picture. One that lies elsewhere is not asked for before somebody wants it: asking tells its owner who reads, and when. */
export function Picture({ source, about }: { readonly source: string; readonly about: string }) {
  const [wanted, setWanted] = useState(isInline(source))
  if (wanted) return <img className="picture" src={source} alt={about} referrerPolicy="no-referrer" loading="lazy" />
  const host = /^https:\/\/([^/?#]+)/.exec(source)?.[1]
  if (host === undefined) return <span className="badge">picture: {about === '' ? source.slice(0, 80) : about}</span>
  return (
    <button type="button" onClick={() => setWanted(true)}>
      Show picture from {host}
    </button>
  )
}
