// The inbox of calls and questions that wait for a person, over all sessions. Keyboard first: j and k walk, a, e, r and Shift+A decide.
import { type ReactElement, useMemo, useState } from 'react'
import type { OperatorApproval, OperatorQuestion } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import {
  Approval,
  type ApprovalAnswer,
  type ApprovalQuestion,
  KindIcon,
  Question,
  type QuestionAnswer,
  Time,
  type UsedApprovals,
} from '../../../../src/react/index.ts'
import { Fact } from '../../../../src/react/parts.tsx'
import { callSentence, parseCallArguments, tellingArgument, toolTitle } from '../../../../src/react/words.ts'
import { operator, useConsole } from '../../lib/console-state.tsx'
import { EventLink } from '../../lib/event-link.tsx'
import { readUndoSeconds, undoSeconds, writeUndoSeconds } from '../../lib/held-decisions.ts'
import { describeChange, toQuestionTool } from '../../lib/live-session.ts'
import { usePageKeys } from '../../lib/page-keys.ts'
import { Empty, Failure, Loading, shortId } from '../../lib/parts.tsx'
import { Link } from '../../lib/router.tsx'
import { Grants } from './grants.tsx'
import { Notify } from './notify.tsx'

/** A call that needs a decision, or a question of a running call. */
type Entry = { key: string; at: number } & (
  | { kind: 'call'; approval: OperatorApproval }
  | { kind: 'question'; asked: OperatorQuestion }
)

function useEntries({ approvals, questions }: UsedApprovals): readonly Entry[] {
  return useMemo(() => {
    const calls = approvals.map(
      (approval): Entry => ({ kind: 'call', key: approval.callId, at: approval.askedAt ?? 0, approval }),
    )
    const asked = questions.map(
      (each): Entry => ({ kind: 'question', key: each.question.id, at: each.askedAt, asked: each }),
    )
    return [...calls, ...asked].sort((one, other) => one.at - other.at)
  }, [approvals, questions])
}

export default function Approvals(): ReactElement {
  const { approvals: used, decisions } = useConsole()
  const entries = useEntries(used)
  const [at, setAt] = useState<string>()
  const index = Math.max(
    0,
    entries.findIndex(({ key }) => key === at),
  )
  const current = entries[index]
  const move = (step: number): void => {
    const next = entries[Math.max(0, Math.min(entries.length - 1, index + step))]
    if (next) setAt(next.key)
  }
  usePageKeys(key => {
    if (key === 'j') move(1)
    else if (key === 'k') move(-1)
  })
  const goOn = (): void => setAt((entries[index + 1] ?? entries[index - 1])?.key)
  const decide = (approval: OperatorApproval, given: ApprovalAnswer): void => {
    decisions.hold(approval, given)
    goOn()
  }
  const reply = async (asked: OperatorQuestion, answer: QuestionAnswer): Promise<void> => {
    await operator.command(asked.session, { do: 'answer', question: asked.question.id, ...answer })
    goOn()
    used.refresh()
  }
  const isKnown = !used.isLoading && !used.error
  return (
    <div className="page approvals">
      <header className="page-head">
        <h1>Approvals</h1>
        <p className="tw-muted" role="status">
          {isKnown || entries.length > 0 ? waitingWords(entries.length, used.more) : ''}
        </p>
        <span className="spacer" />
        <UndoTime />
        <Notify />
      </header>
      {used.error && <Failure error={used.error} retry={used.refresh} />}
      {used.isLoading && <Loading what="the approvals" />}
      {isKnown && !current && <NothingWaits />}
      {current && (
        <div className="inbox">
          <InboxList entries={entries} current={current} onChoose={setAt} />
          <div className="inbox-one" key={current.key}>
            {current.kind === 'call' ? (
              <OneCall approval={current.approval} onAnswer={given => decide(current.approval, given)} />
            ) : (
              <OneQuestion asked={current.asked} onAnswer={answer => reply(current.asked, answer)} />
            )}
          </div>
        </div>
      )}
      <Grants />
    </div>
  )
}

/** Decided calls make room for those that were not read. */
function waitingWords(shown: number, more: boolean): string {
  if (more) return `${shown} waiting, and more that appear when these are decided`
  return shown === 0 ? 'Nothing waits' : `${shown} waiting`
}

type OneProps = { approval: OperatorApproval; onAnswer: (answer: ApprovalAnswer) => void }

function OneCall({ approval, onAnswer }: OneProps): ReactElement {
  const { session } = approval
  return (
    <Approval
      question={approvalQuestion(approval)}
      onAnswer={onAnswer}
      autoFocus
      renderSource={callId => {
        const seq = approval.flow?.find(({ call }) => call === callId)?.seq
        return seq === undefined ? null : <EventLink {...{ id: session, seq }}>Show it</EventLink>
      }}
    >
      <Origin from={approval} />
    </Approval>
  )
}

type OneQuestionProps = { asked: OperatorQuestion; onAnswer: (answer: QuestionAnswer) => Promise<void> }

function OneQuestion({ asked, onAnswer }: OneQuestionProps): ReactElement {
  const { tool, text, question, askedAt, message } = asked
  const form = tool.input?.form ?? 'json'
  return (
    <section className="tw-approval inbox-question" aria-label={`A question of ${printable(tool.name, 60)}`}>
      <h3 className="tw-approval-title">
        <KindIcon kind={tool.kind} />
        <span>{callSentence(tool.name, tool.title, parseCallArguments({ form, text }), text)}</span>
      </h3>
      <p className="tw-muted">It runs, and asks you:</p>
      <Question question={{ ...question, at: askedAt }} onAnswer={onAnswer} />
      <dl className="tw-facts">
        {message && <Fact name="Message">{printable(message.text, 200)}</Fact>}
        <Fact name="Asked">
          <Time at={askedAt} />
        </Fact>
        <Origin from={asked} />
      </dl>
    </section>
  )
}

function Origin({ from }: { from: OperatorApproval | OperatorQuestion }): ReactElement {
  const { session, owner, agent, tool, message } = from
  return (
    <Fact name="Session">
      <Link to={`/sessions/${session}${message ? `#seq=${message.seq}` : ''}`} className="link">
        {shortId(session)}
      </Link>{' '}
      of {printable(owner, 40)}, agent {printable(agent, 40)}
      {tool.agent !== undefined && tool.agent !== agent && `, for whom ${printable(tool.agent, 40)} works`}
    </Fact>
  )
}

function UndoTime(): ReactElement {
  const [seconds, setSeconds] = useState(readUndoSeconds)
  return (
    <select
      className="tw-input"
      aria-label="How long a decision can be taken back"
      value={seconds}
      onChange={event => {
        writeUndoSeconds(Number(event.target.value))
        setSeconds(readUndoSeconds())
      }}
    >
      {undoSeconds.map(each => (
        <option key={each} value={each}>
          {each === 0 ? 'Decisions are sent at once' : `Undo within ${each} s`}
        </option>
      ))}
    </select>
  )
}

function approvalQuestion(approval: OperatorApproval): ApprovalQuestion {
  const { tool, text, argsHash, toolHash, rule, reason, askedAt, expiresAt, last, flow } = approval
  return {
    callId: approval.callId,
    session: approval.session,
    message: approval.message?.text,
    preview: approval.preview,
    tool: toQuestionTool(tool.name, tool),
    form: tool.input?.form ?? 'json',
    text,
    argsHash: argsHash ?? '',
    toolHash,
    rule: rule ?? 'the policy',
    reason,
    askedAt: askedAt ?? Date.now(),
    expiresAt,
    expired: expiresAt !== undefined && expiresAt < Date.now(),
    last,
    flow,
    changed: describeChange(tool),
    approvers: approval.approvers,
    votes: approval.votes,
    whyNot: approval.whyNot,
  }
}

type ListProps = {
  entries: readonly Entry[]
  current: Entry
  onChoose: (key: string) => void
}

function InboxList({ entries, current, onChoose }: ListProps): ReactElement {
  return (
    <ul className="inbox-list" aria-label="Waiting calls and questions">
      {entries.map(entry => (
        <li key={entry.key}>
          <button
            type="button"
            className="inbox-item"
            aria-current={entry.key === current.key ? 'true' : undefined}
            onClick={() => onChoose(entry.key)}
          >
            <InboxWords entry={entry} />
          </button>
        </li>
      ))}
    </ul>
  )
}

/** Which tool, with what, for which agent. */
function InboxWords({ entry }: { entry: Entry }): ReactElement {
  const { tool, text, agent } = entry.kind === 'call' ? entry.approval : entry.asked
  const form = tool.input?.form ?? 'json'
  const argument = tellingArgument({ text, form }, 120)
  return (
    <>
      <span className="inbox-line">
        <KindIcon kind={tool.kind} />
        <span className="inbox-name">{toolTitle(tool.name, tool.title)}</span>
        {entry.at > 0 && <Time at={entry.at} />}
      </span>
      {entry.kind === 'question' ? (
        <span>{printable(entry.asked.question.message, 120)}</span>
      ) : (
        <span className="inbox-argument">{argument}</span>
      )}
      <span className="inbox-agent">
        {entry.kind === 'question' && <span>asks a question ·</span>}
        <span className="inbox-who">{printable(tool.agent ?? agent, 60)}</span>
        {entry.kind === 'call' && tool.destructive === true && (
          <span className="inbox-danger">· cannot be undone</span>
        )}
      </span>
    </>
  )
}

function NothingWaits(): ReactElement {
  const { catalogue } = useConsole()
  const asking = catalogue?.agents.flatMap(({ tools }) => tools).find(({ trust }) => trust === 'ask')
  return (
    <Empty title="Nothing waits for you" shape="check">
      <p>
        Calls that need a decision appear here by themselves. To see one,{' '}
        <Link to="/" className="link">
          {asking
            ? `ask in the playground for something that needs ${printable(asking.name, 60)}`
            : 'talk to an agent in the playground'}
        </Link>
        .
      </p>
    </Empty>
  )
}
