// One session: its activity, its open questions, its past calls and their approvals, its cost, its errors. The address
// says which view is shown and which event is in the middle.
import { lazy, type ReactElement, Suspense, useCallback, useEffect, useMemo, useState } from 'react'
import type { SessionView, ViewItem } from '../../../../src/react/index.ts'
import { useConsole } from '../../lib/console-state.tsx'
import { type LiveSession, useLiveSession } from '../../lib/live-session.ts'
import { useNarrow } from '../../lib/narrow.ts'
import { Empty, Failure, Loading } from '../../lib/parts.tsx'
import { type Address, currentAddress, Link, navigate, useAddress, withQuery } from '../../lib/router.tsx'
import { read, write } from '../../lib/theme.ts'
import { SessionHead } from './head.tsx'
import { Found, type Search, useSearch } from './search.tsx'
import type { Bar } from './timeline-layout.ts'
import { type ViewName, viewsFor } from './views.ts'

// Each view is loaded when it is opened, and so is what few look at.
const ForkDialog = lazy(() => import('./fork.tsx'))
const Inspector = lazy(() => import('./inspector.tsx'))
const Log = lazy(() => import('./log.tsx'))
const TimelineStrip = lazy(loadTimeline)
const TranscriptView = lazy(loadTranscript)
const UsageView = lazy(() => import('./usage.tsx'))
const Vendors = lazy(() => import('./vendors.tsx'))

function loadTimeline(): Promise<typeof import('./timeline.tsx')> {
  return import('./timeline.tsx')
}

function loadTranscript(): Promise<typeof import('./transcript-view.tsx')> {
  return import('./transcript-view.tsx')
}

export default function Session({ id }: { id: string }): ReactElement {
  const session = useLiveSession(id)
  const { view, error } = session
  useFirstLoad(readView(useAddress(), useConsole().me.operator), useNarrow())
  if (error && !view)
    return (
      <div className="page">
        <header className="page-head">
          <h1>Session</h1>
        </header>
        <Failure error={error}>
          <p>
            It may have been deleted, or it belongs to somebody else.{' '}
            <Link to="/sessions" className="link">
              Show all sessions
            </Link>
          </p>
        </Failure>
      </div>
    )
  if (!view || view.seq === 0 || !session.isCaughtUp) return <Loading what="the session" />
  return <ShownSession session={session} view={view} />
}

/** The view of the address is loaded while the log is read. */
function useFirstLoad(name: ViewName, isNarrow: boolean): void {
  const [first] = useState({ name, isNarrow })
  useEffect(() => {
    const isTranscript = first.name === 'transcript'
    if (isTranscript) loadTranscript().catch(() => {})
    if (first.name === 'timeline' || (isTranscript && !first.isNarrow)) loadTimeline().catch(() => {})
  }, [first])
}

function ShownSession({ session, view }: { session: LiveSession; view: SessionView }): ReactElement {
  const address = useAddress()
  const name = readView(address, useConsole().me.operator)
  const [selected, setSelected] = useState<string>()
  const { fork, setFork, closeFork } = useFork(address)
  const [isStrip, foldStrip] = useStrip()
  const openBar = useOpenBar(address, setSelected)
  const item = view.items.find(each => each.key === selected)
  const search = useSearch(view, address)
  const hasBars = view.steps.length > 0
  const hasStrip = useBeside(isStrip && name === 'transcript') || name === 'timeline'
  return (
    <div className="session" data-view={name}>
      <SessionHead
        session={session}
        view={view}
        name={name}
        onFork={() => setFork(view.seq)}
        isStrip={isStrip}
        foldStrip={foldStrip}
      >
        {(name === 'transcript' || name === 'log') && <Found search={search} />}
      </SessionHead>
      <Suspense>
        {hasBars && hasStrip && (
          <TimelineStrip view={view} selected={selected} onOpen={openBar} isPage={name === 'timeline'} />
        )}
      </Suspense>
      {name === 'timeline' && !hasBars && <NoTimeline />}
      {name !== 'timeline' && (
        <div className="session-body">
          <Main
            name={name}
            session={session}
            view={view}
            search={search}
            selected={selected}
            onSelect={setSelected}
            onFork={setFork}
          />
          <Suspense>
            {item && name === 'transcript' && (
              <Inspector
                session={session}
                item={item}
                onClose={() => setSelected(undefined)}
                onFork={setFork}
              />
            )}
          </Suspense>
        </div>
      )}
      {fork !== undefined && fork <= view.seq && (
        <Suspense>
          <ForkDialog session={session} view={view} upTo={fork} onClose={closeFork} />
        </Suspense>
      )}
    </div>
  )
}

/** A phone has no room for two views. */
function useBeside(isWanted: boolean): boolean {
  const isNarrow = useNarrow()
  return isWanted && !isNarrow
}

function useOpenBar(address: Address, select: (key: string) => void): (bar: Bar) => void {
  return useCallback(
    (bar: Bar) => {
      if (bar.seq !== undefined) navigate(withQuery(address, { view: undefined }, `#seq=${bar.seq}`))
      if (bar.callId !== undefined) select(`c${bar.callId}`)
    },
    [address, select],
  )
}

function NoTimeline(): ReactElement {
  return (
    <Empty title="Nothing has run yet">
      <p>Steps of the model and calls of tools appear here along time.</p>
    </Empty>
  )
}

type UsedFork = { fork: number | undefined; setFork: (seq: number) => void; closeFork: () => void }

/** The event to fork from, while that is asked for. It is in the address, so a reload asks again. */
function useFork({ query }: Address): UsedFork {
  const seq = Number(query.get('fork'))
  const setFork = useCallback((from: number) => navigate(withFork(String(from))), [])
  const closeFork = useCallback(() => navigate(withFork(undefined), { replace: true }), [])
  return { fork: Number.isSafeInteger(seq) && seq > 0 ? seq : undefined, setFork, closeFork }
}

/** The address as it is now: the one of a render may be old. */
function withFork(fork: string | undefined): string {
  return withQuery(currentAddress(), { fork }, location.hash)
}

/** Whether the timeline is shown above the transcript. It is kept in this browser. */
function useStrip(): [boolean, () => void] {
  const [isStrip, setStrip] = useState(() => read('turnwire-timeline') !== 'folded')
  const fold = (): void => {
    write('turnwire-timeline', isStrip ? 'folded' : 'open')
    setStrip(!isStrip)
  }
  return [isStrip, fold]
}

type BodyProps = {
  name: ViewName
  session: LiveSession
  view: SessionView
  search: Search
  selected: string | undefined
  onSelect: (key: string) => void
  onFork: (seq: number) => void
}

function Main(props: BodyProps): ReactElement {
  return (
    <div className="session-main">
      <Suspense fallback={<Loading what="the view" />}>
        <Body {...props} />
      </Suspense>
    </div>
  )
}

function Body({ name, session, view, search, selected, onSelect, onFork }: BodyProps): ReactElement | null {
  const address = useAddress()
  const target = useTarget(view, readSeq(address), name)
  const select = useCallback((item: ViewItem) => onSelect(item.key), [onSelect])
  switch (name) {
    case 'transcript':
      return (
        <TranscriptView
          session={session}
          view={view}
          target={search.target ?? target}
          selected={selected}
          onSelect={select}
          onFork={onFork}
        />
      )
    case 'log':
      return (
        <Log
          log={session.log}
          upTo={session.log.length}
          query={search.query}
          calls={view.calls}
          target={target}
        />
      )
    case 'vendors':
      return <Vendors id={session.id} seq={view.seq} />
    case 'usage':
      return <UsageView view={view} />
    case 'timeline':
      return null
  }
}

function readView({ query }: Address, operator: boolean): ViewName {
  const name = query.get('view')
  return viewsFor(operator).find(each => each === name) ?? 'transcript'
}

function readSeq({ hash }: Address): number | undefined {
  const found = /^#seq=(\d+)$/.exec(hash)?.[1]
  return found === undefined ? undefined : Number(found)
}

/** The row that an address leads to: the event itself in the log, the item that shows it in the transcript. */
function useTarget(
  view: SessionView,
  seq: number | undefined,
  name: ViewName,
): { key: string; at: number } | undefined {
  const isThere = seq !== undefined && seq <= view.seq
  const [rounds, setRounds] = useState(0)
  useEffect(() => {
    const again = (): void => setRounds(before => before + 1)
    globalThis.addEventListener('hashchange', again)
    return () => globalThis.removeEventListener('hashchange', again)
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the items at the time of the link decide, not later ones
  return useMemo(() => {
    if (!isThere || seq === undefined) return undefined
    if (name === 'log') return { key: `e${seq}`, at: rounds }
    const item = findItem(view, seq)
    return item && { key: item.key, at: rounds }
  }, [isThere, seq, name, rounds])
}

export function findItem(view: SessionView, seq: number): ViewItem | undefined {
  return (
    view.items.find(
      item => item.type === 'call' && item.call.seq !== seq && item.call.events.includes(seq),
    ) ??
    view.items.find(item => (item.type === 'call' ? item.call.seq : item.seq) === seq) ??
    view.items.findLast(item => ((item.type === 'call' ? item.call.seq : item.seq) ?? Infinity) <= seq)
  )
}
