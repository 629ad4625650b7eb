// The head of a session: its agent, its activity in words, its cost and age; the views; the actions.
import { lazy, type ReactElement, type ReactNode, Suspense } from 'react'
import { printable } from '../../../../src/lib/text/index.ts'
import { ActionIcon } from '../../../../src/react/icons.tsx'
import { describeActivity, type SessionView, Time, type UsageTotal } from '../../../../src/react/index.ts'
import { Fact } from '../../../../src/react/parts.tsx'
import { useAttempt } from '../../lib/attempt.tsx'
import { useConsole } from '../../lib/console-state.tsx'
import type { LiveSession } from '../../lib/live-session.ts'
import { Menu } from '../../lib/menu.tsx'
import { count, Id, money, State } from '../../lib/parts.tsx'
import { Link, useAddress, withQuery } from '../../lib/router.tsx'
import { useTabInSight } from '../../lib/tab-in-sight.ts'
import { type ViewName, viewsFor } from './views.ts'

const More = lazy(() => import('./more.tsx'))

type HeadProps = {
  session: LiveSession
  view: SessionView
  name: ViewName
  onFork: () => void
  isStrip: boolean
  foldStrip: () => void
  /** The search, in views that have one. */
  children?: ReactNode
}

const labels: Readonly<Record<ViewName, string>> = {
  transcript: 'Transcript',
  timeline: 'Timeline',
  log: 'Log',
  vendors: 'As vendors see it',
  usage: 'Usage and cost',
}

export function SessionHead(props: HeadProps): ReactElement {
  const { session, view, name } = props
  const address = useAddress()
  const { activity, words } = describeActivity(view)
  const { me } = useConsole()
  const title = printable(findOpening(view) ?? 'Nothing said yet', 200)
  return (
    <header className="session-head">
      <div className="session-title">
        <Link to="/sessions" className="crumb">
          Sessions
        </Link>
        <h1 title={title}>{title}</h1>
        <Actions {...props} />
      </div>
      <div className="session-facts">
        <State kind={activity} words={words} />
        <Facts id={session.id} view={view} />
      </div>
      <div className="session-tools">
        <nav ref={useTabInSight(name)} className="tabs" aria-label="Views of this session">
          {viewsFor(me.operator).map(each => (
            <Link
              key={each}
              to={withQuery(address, { view: each === 'transcript' ? undefined : each, vendor: undefined })}
              aria-current={each === name ? 'page' : undefined}
              className={`tab tab-${each}`}
            >
              {labels[each]}
            </Link>
          ))}
        </nav>
        <span className="spacer" />
        {props.children}
        {name === 'transcript' && <StripButton {...props} />}
      </div>
    </header>
  )
}

function StripButton({ isStrip, foldStrip }: HeadProps): ReactElement {
  const label = isStrip ? 'Hide the timeline' : 'Show the timeline'
  return (
    <button
      type="button"
      className="tw-button tw-icon strip-button"
      aria-label={label}
      title={label}
      aria-expanded={isStrip}
      onClick={foldStrip}
    >
      <ActionIcon name="timeline" />
    </button>
  )
}

/** The text of the session's first message, as in the list. */
function findOpening({ items }: SessionView): string | undefined {
  const first = items.find(item => item.type === 'user')
  return first?.parts.find(part => part.type === 'text')?.text
}

/** Unknown facts are left out. */
function Facts({ id, view }: { id: string; view: SessionView }): ReactElement {
  const { usage } = view
  const model = view.steps.findLast(step => step.model !== undefined)?.model ?? view.settings?.model
  return (
    <dl className="facts">
      <Fact name="Agent" className="fact-agent">
        {printable(view.agent, 60)}
      </Fact>
      {model !== undefined && (
        <Fact name="Model" className="fact-model">
          {printable(model, 60)}
        </Fact>
      )}
      {usage.input + usage.output > 0 && (
        <>
          <Fact name="Cost" className="fact-cost">
            {costWords(usage)}
          </Fact>
          <Fact name="Tokens" className="fact-tokens">
            {count(usage.input + usage.output)}
          </Fact>
        </>
      )}
      <Fact name="Began" className="fact-began">
        <Time at={view.createdAt} />
      </Fact>
      <Fact name="Wire">{printable(view.wire, 40)}</Fact>
      <Fact name="Id" className="fact-id">
        <Id id={id} />
      </Fact>
    </dl>
  )
}

/** A part without a price makes the cost a lower bound. */
function costWords({ priced, cost }: UsageTotal): string {
  if (priced) return money(cost)
  return cost > 0 ? `${money(cost)} or more` : 'no price set'
}

function Actions({ session, view, onFork }: HeadProps): ReactElement {
  const { attempt, problem } = useAttempt()
  return (
    <div className="actions">
      {view.active && (
        <button
          type="button"
          className="tw-button tw-danger"
          onClick={() => attempt(session.command({ do: 'cancel' }))}
        >
          Stop
        </button>
      )}
      <button type="button" className="tw-button wide-only" onClick={onFork}>
        Fork…
      </button>
      <Menu label="More">
        <Suspense>
          <More session={session} view={view} attempt={attempt} onFork={onFork} />
        </Suspense>
      </Menu>
      {problem}
    </div>
  )
}
