/** A session as Markdown. Texts are taken for Markdown, as agents write it; what tools got and gave is fenced. */
import { type PageHead, type PageMessage, partsOf } from './page.ts'

export function markdownHead({ session, title, createdAt, updatedAt, messageCount }: PageHead): string {
  return `# ${inLine(title ?? session)}\n\nSession \`${inLine(session)}\`, ${messageCount} messages, ${createdAt} to ${updatedAt}\n`
}

export function markdownArchive(number: number, overview: string): string {
  return `\n> **Archive ${number}**\n${overview
    .split('\n')
    .map((line) => `> ${line}\n`)
    .join('')}`
}

export function markdownMessage({ at, view }: PageMessage): string {
  const parts = partsOf(view).map(({ kind, label, text }) => {
    if (kind === 'text') return `\n${text}\n`
    if (kind === 'media') return `\n[${label}] ${inLine(text)}\n`
    const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)))
    return `\n*${inLine(label)}*\n\n${fence}\n${text}\n${fence}\n`
  })
  return `\n## ${view.role ?? 'message'} · ${at}\n${parts.join('')}`
}

function inLine(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 500)
}
