// The head of a session: its agent, its activity in words, its cost and age; the views; the actions.
import type { ReactElement } from 'react'
import { printable } from '../../../../src/lib/text/index.ts'
import {
  CopyButton,
  describeActivity,
  type SessionView,
  Time,
  type UsageTotal,
} from '../../../../src/react/index.ts'
import { Fact } from '../../../../src/react/parts.tsx'
import { useAttempt } from '../../lib/attempt.tsx'
import { operator, useConsole } from '../../lib/console-state.tsx'
import type { LiveSession } from '../../lib/live-session.ts'
import { Menu } from '../../lib/menu.tsx'
import { serverUrl } from '../../lib/mount-path.ts'
import { count, Id, money, State } from '../../lib/parts.tsx'
import { Link, navigate, useAddress, withQuery } from '../../lib/router.tsx'
import { saveFile } from '../../lib/save-file.ts'
import { writeCurl } from './curl.ts'
import { type ViewName, viewsFor } from './views.ts'

type HeadProps = {
  session: LiveSession
  view: SessionView
  name: ViewName
  onFork: () => void
  isStrip: boolean
  foldStrip: () => void
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
        <nav className="tabs" aria-label="Views of this session">
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
        {name === 'transcript' && (
          <button
            type="button"
            className="tw-button tw-small strip-button"
            aria-expanded={props.isStrip}
            onClick={props.foldStrip}
          >
            {props.isStrip ? 'Hide the timeline' : 'Show the timeline'}
          </button>
        )}
      </div>
    </header>
  )
}

/** The text of the session's first message, as in the list. */
function findOpening({ items }: SessionView): string | undefined {
  const first = items.find(item => item.type === 'user')
  return first?.parts.find(part => part.type === 'text')?.text
}

function Facts({ id, view }: { id: string; view: SessionView }): ReactElement {
  const { usage } = view
  const model = view.steps.findLast(step => step.model !== undefined)?.model ?? view.settings?.model
  return (
    <dl className="facts">
      <Fact name="Agent">{printable(view.agent, 60)}</Fact>
      <Fact name="Cost">{costWords(usage)}</Fact>
      <Fact name="Tokens">{count(usage.input + usage.output)}</Fact>
      <Fact name="Model">{printable(model ?? '–', 60)}</Fact>
      <Fact name="Began">
        <Time at={view.createdAt} />
      </Fact>
      <Fact name="Wire">{printable(view.wire, 40)}</Fact>
      <Fact name="Id">
        <Id id={id} />
      </Fact>
    </dl>
  )
}

/** A part without a price makes the cost a lower bound. */
function costWords({ input, output, priced, cost }: UsageTotal): string {
  if (input + output === 0) return '–'
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
      <button type="button" className="tw-button" onClick={onFork}>
        Fork…
      </button>
      <More session={session} view={view} attempt={attempt} />
      {problem}
    </div>
  )
}

type MoreProps = Pick<HeadProps, 'session' | 'view'> & { attempt: (work: Promise<unknown>) => void }

function More({ session, view, attempt }: MoreProps): ReactElement {
  const { me } = useConsole()
  const remove = (): void => {
    if (!confirm('Delete this session and its log? This cannot be undone.')) return
    attempt(operator.remove(session.id).then(() => navigate('/sessions')))
  }
  const button = (label: string, onClick: () => void, look = ''): ReactElement => (
    <button type="button" className={`tw-button tw-small ${look}`} onClick={onClick}>
      {label}
    </button>
  )
  return (
    <Menu label="More">
      <CopyButton text={() => writeCurl(session.id, view)} label="Copy as curl" />
      {button('Export the log', () => attempt(exportLog(session.id)))}
      <CopyButton text={() => `${serverUrl}/sessions/${session.id}`} label="Copy a link" />
      {button('Make an eval case', () => attempt(saveEvalCase(session.id)))}
      <Link className="tw-button tw-small" to={`/compare?a=${encodeURIComponent(session.id)}`}>
        Compare…
      </Link>
      {me.operator &&
        view.controlledBy === undefined &&
        button('Take manual control', () => attempt(session.command({ do: 'take-control' })))}
      {button('Summarise the history', () => attempt(session.command({ do: 'compact' })))}
      {button('Delete…', remove, 'tw-danger')}
    </Menu>
  )
}

/** A file for `turnwire eval`. */
async function saveEvalCase(id: string): Promise<void> {
  const text = await operator.evalCase(id)
  saveFile(new Blob([text], { type: 'text/plain' }), `${id}.eval.ts`)
}

/** A link would not carry the secret of the sign-in. */
async function exportLog(id: string): Promise<void> {
  saveFile(await operator.export(id), `${id}.jsonl`)
}
