/** Light or dark: as the system says, unless somebody chose. The choice is this browser's alone. */
export type Theme = 'system' | 'light' | 'dark'

const KEY = 'holdfast-theme'

export function chosenTheme(): Theme {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

export function applyTheme(theme: Theme = chosenTheme()): void {
  if (theme === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, theme)
  document.documentElement.dataset.theme = theme
}
