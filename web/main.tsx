/** The page begins: the theme first, so that nothing flashes, then everything else. */
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { applyTheme } from './shell/theme.ts'
import './style/base.css'
import './style/shell.css'
import './style/sessions.css'

applyTheme()
createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
