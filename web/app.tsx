/** The shell around every page: navigation, connection, theme, keys, notices. Pages other than the list are loaded when they are needed. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { Link, Route, Switch, useLocation } from 'wouter'
import { SessionsPage } from './sessions/sessions-page.tsx'
import { Boundary } from './shell/boundary.tsx'
import { useCaller } from './shell/caller.ts'
import { Help } from './shell/help.tsx'
import { Icon } from './shell/icon.tsx'
import { listenToKeys, useShortcuts } from './shell/keyboard.ts'
import { Notices, notify } from './shell/notices.tsx'
import { serverLink, useLink } from './shell/server.ts'
import { SignIn } from './shell/sign-in.tsx'
import { applyTheme, chosenTheme, type Theme } from './shell/theme.ts'

const Palette = lazy(async () => ({ default: (await import('./shell/palette.tsx')).Palette }))
const SessionPage = lazy(async () => ({ default: (await import('./session/session-page.tsx')).SessionPage }))

const OverviewPage = lazy(async () => ({ default: (await import('./overview/overview-page.tsx')).OverviewPage }))
const MemoriesPage = lazy(async () => ({ default: (await import('./memories/memories-page.tsx')).MemoriesPage }))

const DataPage = lazy(async () => ({ default: (await import('./data/data-page.tsx')).DataPage }))

const SharedPage = lazy(async () => ({ default: (await import('./shared/shared-page.tsx')).SharedPage }))

const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 5000, refetchOnWindowFocus: true } },
})

export function App() {
  useEffect(listenToKeys, [])
  return (
    <QueryClientProvider client={queries}>
      {location.pathname.startsWith('/shared/') ? <Guest /> : <Shell />}
      <Notices />
    </QueryClientProvider>
  )
}

/** Whoever was sent a link has no key, and needs none. */
function Guest() {
  return (
    <>
      <header className="bar">
        <span className="mark">
          <Mark />
          <span>Holdfast</span>
        </span>
        <div className="bar-end">
          <ThemeSwitch />
        </div>
      </header>
      <Boundary>
        <Suspense fallback={<Waiting />}>
          <SharedPage />
        </Suspense>
      </Boundary>
    </>
  )
}

function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <path d="M9 7v18M23 7v18M9 16h14M9 11h6M17 21h6" />
    </svg>
  )
}

function Shell() {
  const link = useLink()
  const [, go] = useLocation()
  const [open, setOpen] = useState<'help' | 'palette' | undefined>()
  const { data: caller } = useCaller()
  useEffect(
    () =>
      serverLink.onReconnect(() => {
        notify('Connected again.')
        void queries.invalidateQueries()
      }),
    [],
  )
  useShortcuts('Everywhere', [
    { keys: 'mod+k', about: 'Go to anything', run: () => setOpen('palette') },
    { keys: '?', about: 'Show these keys', run: () => setOpen('help') },
    { keys: 'g s', about: 'Go to sessions', run: () => go('/') },
    { keys: 'g o', about: 'Go to the overview', run: () => go('/overview') },
    { keys: 'g m', about: 'Go to the memories', run: () => go('/memories') },
    { keys: 'g d', about: 'Go to what is kept, and for how long', run: () => go('/data') },
  ])
  const signedOut = link === 'signed-out'
  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="bar">
        <Link href="/" className="mark" aria-label="Holdfast, sessions">
          <Mark />
          <span>Holdfast</span>
        </Link>
        {!signedOut && (
          <nav aria-label="Pages">
            <NavLink href="/">Sessions</NavLink>
            <NavLink href="/overview">Overview</NavLink>
            <NavLink href="/memories">Memories</NavLink>
            {caller?.scope === 'admin' && <NavLink href="/data">Data</NavLink>}
          </nav>
        )}
        <div className="bar-end">
          {caller !== undefined && !signedOut && caller.scope === 'read' && <span className="badge">read only</span>}
          {!signedOut && (
            <button type="button" className="quiet" onClick={() => setOpen('palette')} title="Go to anything (Ctrl K)">
              <Icon name="search" /> <span className="wide">Go to</span>
            </button>
          )}
          <ThemeSwitch />
          <button type="button" className="quiet" aria-label="Keys" title="Keys (?)" onClick={() => setOpen('help')}>
            ?
          </button>
          {!signedOut && caller?.kind === 'cookie' && (
            <button type="button" className="quiet wide" onClick={() => void serverLink.signOut()}>
              Sign out
            </button>
          )}
        </div>
      </header>
      {link === 'lost' && (
        <div className="lost" role="alert">
          The server does not answer. This page tries again by itself; what you see is what it last told.
        </div>
      )}
      {signedOut ? <SignIn /> : <Pages />}
      {open === 'help' && <Help onClose={() => setOpen(undefined)} />}
      {open === 'palette' && (
        <Suspense fallback={null}>
          <Palette onClose={() => setOpen(undefined)} />
        </Suspense>
      )}
    </>
  )
}

function Pages() {
  const [place] = useLocation()
  return (
    <Boundary key={place.split('/').slice(0, 3).join('/')}>
      <Suspense fallback={<Waiting />}>
        <Switch>
          <Route path="/" component={SessionsPage} />
          <Route path="/sessions/:id/*?" component={SessionPage} />
          <Route path="/overview" component={OverviewPage} />
          <Route path="/memories" component={MemoriesPage} />
          <Route path="/data" component={DataPage} />
          <Route>
            <main id="main" className="page">
              <h1>There is no such page</h1>
              <p>
                <Link href="/">All sessions</Link>
              </p>
            </main>
          </Route>
        </Switch>
      </Suspense>
    </Boundary>
  )
}

function NavLink({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  const [place] = useLocation()
  const isHere = href === '/' ? place === '/' || place.startsWith('/sessions/') : place.startsWith(href)
  return (
    <Link href={href} aria-current={isHere ? 'page' : undefined}>
      {children}
    </Link>
  )
}

const NEXT_THEME: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }
const THEME_ICON = { system: 'auto', light: 'sun', dark: 'moon' } as const

function ThemeSwitch() {
  const [theme, setTheme] = useState(chosenTheme)
  const next = NEXT_THEME[theme]
  const choose = (): void => {
    applyTheme(next)
    setTheme(next)
  }
  useShortcuts('Look', [{ keys: 't', about: 'Change between light, dark and as the system has it', run: choose }])
  return (
    <button
      type="button"
      className="quiet"
      aria-label={`Theme: ${theme}. Change to ${next}`}
      title={`Theme: ${theme} (t)`}
      onClick={choose}
    >
      <Icon name={THEME_ICON[theme]} />
    </button>
  )
}

function Waiting() {
  return (
    <main id="main" className="page" aria-busy="true">
      <p className="dim waiting">Loading…</p>
    </main>
  )
}
