/** Colours for code. The engine is made of JavaScript's own expressions: the page's policy lets no other code be made. */
import { createHighlighterCore, type HighlighterCore, type LanguageRegistration } from 'shiki/core'
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript'

const LANGUAGES: Readonly<Record<string, () => Promise<{ readonly default: LanguageRegistration[] }>>> = {
  bash: () => import('shiki/langs/bash.mjs'),
  c: () => import('shiki/langs/c.mjs'),
  css: () => import('shiki/langs/css.mjs'),
  diff: () => import('shiki/langs/diff.mjs'),
  go: () => import('shiki/langs/go.mjs'),
  html: () => import('shiki/langs/html.mjs'),
  java: () => import('shiki/langs/java.mjs'),
  javascript: () => import('shiki/langs/javascript.mjs'),
  json: () => import('shiki/langs/json.mjs'),
  python: () => import('shiki/langs/python.mjs'),
  rust: () => import('shiki/langs/rust.mjs'),
  sql: () => import('shiki/langs/sql.mjs'),
  toml: () => import('shiki/langs/toml.mjs'),
  tsx: () => import('shiki/langs/tsx.mjs'),
  typescript: () => import('shiki/langs/typescript.mjs'),
  yaml: () => import('shiki/langs/yaml.mjs'),
}
const OTHER_NAMES: Readonly<Record<string, string>> = {
  js: 'javascript',
  jsx: 'tsx',
  py: 'python',
  rs: 'rust',
  sh: 'bash',
  shell: 'bash',
  ts: 'typescript',
  yml: 'yaml',
  zsh: 'bash',
}

let making: Promise<HighlighterCore> | undefined

function highlighter(): Promise<HighlighterCore> {
  making ??= createHighlighterCore({
    themes: [import('shiki/themes/github-light-high-contrast.mjs'), import('shiki/themes/github-dark-high-contrast.mjs')],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  })
  return making
}

/** Undefined if the language is not known. */
export async function highlight(code: string, language: string) {
  const name = OTHER_NAMES[language] ?? language
  const load = Object.hasOwn(LANGUAGES, name) ? LANGUAGES[name] : undefined
  if (load === undefined) return undefined
  const core = await highlighter()
  await core.loadLanguage((await load()).default)
  const themes = { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' }
  return core.codeToTokens(code, { lang: name, themes, defaultColor: false }).tokens
}
