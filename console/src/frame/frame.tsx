// The frame of every page: the rail, the palette, the list of keys, and a line that says when the server is away.
import { lazy, type ReactElement, type ReactNode, Suspense, useEffect, useMemo, useState } from 'react'
import { ActionIcon, type ActionName, KindIcon, ShapeIcon, Svg } from '../../../src/react/icons.tsx'
import { useConsole } from '../lib/console-state.tsx'
import type { HeldDecisions } from '../lib/held-decisions.ts'
import { publicFile } from '../lib/mount-path.ts'
import { usePageKeys } from '../lib/page-keys.ts'
import { signOut } from '../lib/provider-sign-in.ts'
import { Link, navigate } from '../lib/router.tsx'
import { applyTheme, read, readTheme, type Theme, write } from '../lib/theme.ts'
import { type PageName, pagesFor } from './pages.ts'
import { Palette } from './palette.tsx'

const KeyList = lazy(() => import('./key-list.tsx'))
const UndoBar = lazy(() => import('./undo-bar.tsx'))

const icons: Readonly<Record<PageName, ReactElement>> = {
  playground: <path d="M3 3h10v7H8l-3 3v-3H3z" />,
  sessions: <path d="M2.5 4h11M2.5 8h11M2.5 12h7" />,
  approvals: <path d="M8 2 3 4v4c0 3 2 5 5 6 3-1 5-3 5-6V4zM5.8 8 7.4 9.6 10.4 6.4" />,
  tools: (
    <path d="M9.8 2.6a3.4 3.4 0 0 0-3.4 4.6L2.6 11v2.4H5l3.8-3.8a3.4 3.4 0 0 0 4.4-4.4l-2 2-2-.4-.4-2z" />
  ),
  policy: <path d="M4 2.5h8v11H4zM6 5.5h4M6 8h4M6 10.5h2" />,
  payments: <path d="M2.5 4.5h11v7h-11zM2.5 7h11M10 9.5h1.5" />,
  overview: <path d="M2.5 8h2.6l1.6-4 2.6 8 1.6-4h2.6" />,
}

export function Frame({ page, children }: { page: PageName | undefined; children: ReactNode }): ReactElement {
  const [open, setOpen] = useState<'palette' | 'keys'>()
  const [isNarrow, setNarrow] = useState(() => read('turnwire-rail') === 'narrow')
  const { me, approvals, connection, decisions } = useConsole()
  const pages = useMemo(() => pagesFor(me), [me])
  const waiting = approvals.approvals.length + approvals.questions.length
  useTitle(pages.find(each => each.name === page)?.label, waiting)
  useKeys(pages, setOpen)
  const fold = (): void => {
    write('turnwire-rail', isNarrow ? 'wide' : 'narrow')
    setNarrow(!isNarrow)
  }
  return (
    <div className={isNarrow ? 'frame frame-narrow' : 'frame'}>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <nav className="rail" aria-label="Pages">
        <p className="brand">
          <img src={publicFile('icon.svg')} alt="" width="20" height="20" />
          <span>Turnwire</span>
        </p>
        <GoTo onOpen={() => setOpen('palette')} />
        {pages.map(({ name, label, path }) => (
          <Link
            key={name}
            to={path}
            className="rail-link"
            title={label}
            aria-current={name === page ? 'page' : undefined}
          >
            <Svg className="rail-icon">{icons[name]}</Svg>
            <span className="rail-label">{label}</span>
            {name === 'approvals' && waiting > 0 && (
              <span className="badge">
                {waiting}
                <span className="tw-hidden"> waiting</span>
              </span>
            )}
          </Link>
        ))}
        <RailFoot isNarrow={isNarrow} fold={fold} openKeys={() => setOpen('keys')} />
      </nav>
      <main id="main" className="main" tabIndex={-1}>
        {connection === 'broken' && <Away />}
        {children}
      </main>
      <Suspense>{hasDecided(decisions) && <UndoBar />}</Suspense>
      {open === 'palette' && <Palette onClose={() => setOpen(undefined)} actions={paletteActions} />}
      <Suspense>{open === 'keys' && <KeyList onClose={() => setOpen(undefined)} />}</Suspense>
    </div>
  )
}

function hasDecided({ held, problem, sent }: HeldDecisions): boolean {
  return held.length > 0 || problem !== undefined || sent !== undefined
}

function Away(): ReactElement {
  return (
    <p className="banner" role="status">
      <ShapeIcon shape="ring" />
      The server does not answer. This page goes on by itself when it is back.
    </p>
  )
}

const paletteActions = [
  { label: 'Start a new session', hint: 'action', go: () => navigate('/?new=1') },
  { label: 'Light theme', hint: 'action', go: () => applyTheme('light') },
  { label: 'Dark theme', hint: 'action', go: () => applyTheme('dark') },
  { label: 'Theme of the system', hint: 'action', go: () => applyTheme('system') },
  { label: 'Sign out', hint: 'action', go: () => void signOut() },
]

/** Apple's keyboards have another key for commands. */
const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent)

function GoTo({ onOpen }: { onOpen: () => void }): ReactElement {
  return (
    <button type="button" className="rail-button rail-go" title="Go to…" onClick={onOpen}>
      <KindIcon kind="search" />
      <span className="rail-label">Go to…</span>
      <kbd>{isApple ? '⌘K' : 'Ctrl K'}</kbd>
    </button>
  )
}

type FootProps = { isNarrow: boolean; fold: () => void; openKeys: () => void }

function RailFoot({ isNarrow, fold, openKeys }: FootProps): ReactElement {
  const { me } = useConsole()
  const [theme, setTheme] = useState(readTheme)
  const next: Theme = theme === 'system' ? 'light' : theme === 'light' ? 'dark' : 'system'
  const button = (label: string, icon: ActionName, onClick: () => void, look = ''): ReactElement => (
    <button
      type="button"
      className={`tw-button tw-icon ${look}`}
      onClick={onClick}
      title={label}
      aria-label={label}
    >
      <ActionIcon name={icon} />
    </button>
  )
  return (
    <div className="rail-foot">
      <p className="who">{me.open ? 'No keys: open on this machine' : `Signed in as ${me.name}`}</p>
      <div className="rail-icons">
        {button('Keys', 'keys', openKeys)}
        {button(`Theme: ${theme}`, 'theme', () => {
          applyTheme(next)
          setTheme(next)
        })}
        {button(isNarrow ? 'Unfold' : 'Fold', 'fold', fold, 'rail-fold')}
      </div>
    </div>
  )
}

/** The count of waiting calls is in the title, so that it is seen from another tab. */
function useTitle(name: string | undefined, waiting: number): void {
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${name ?? 'Console'} · Turnwire`
  }, [name, waiting])
}

function useKeys(pages: ReturnType<typeof pagesFor>, open: (what: 'palette' | 'keys') => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      open('palette')
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [open])
  usePageKeys(key => {
    if (key === '?') open('keys')
    const page = pages.find(each => each.key === key)
    if (page) navigate(page.path)
  })
}
