// The inbox of calls that wait for a person, over all sessions. Keyboard first: j and k walk, a, e, r and Shift+A decide.
import { type ReactElement, useCallback, useEffect, useRef, useState } from 'react'
import type { OperatorApproval } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { isTyping } from '../../../../src/react/approval.tsx'
import { Approval, type ApprovalAnswer, type ApprovalQuestion, Time } from '../../../../src/react/index.ts'
import { Fact } from '../../../../src/react/parts.tsx'
import { useConsole } from '../../lib/console-state.tsx'
import { EventLink } from '../../lib/event-link.tsx'
import { readUndoSeconds, undoSeconds, writeUndoSeconds } from '../../lib/held-decisions.ts'
import { describeChange, toQuestionTool } from '../../lib/live-session.ts'
import { Empty, Failure, Loading, shortId } from '../../lib/parts.tsx'
import { Link } from '../../lib/router.tsx'
import { Grants } from './grants.tsx'
import { Notify } from './notify.tsx'

export default function Approvals(): ReactElement {
  const { approvals: used, decisions } = useConsole()
  const { approvals } = used
  const [at, setAt] = useState<string>()
  const index = Math.max(
    0,
    approvals.findIndex(each => each.callId === at),
  )
  const current = approvals[index]
  const move = useCallback(
    (step: number) => {
      const next = approvals[Math.max(0, Math.min(approvals.length - 1, index + step))]
      if (next) setAt(next.callId)
    },
    [approvals, index],
  )
  useWalkKeys(move)
  const answer = (approval: OperatorApproval, given: ApprovalAnswer): void => {
    const next = approvals[index + 1] ?? approvals[index - 1]
    decisions.hold(approval, given)
    setAt(next?.callId)
  }
  return (
    <div className="page approvals">
      <header className="page-head">
        <h1>Approvals</h1>
        <p className="tw-muted" role="status">
          {waitingWords(approvals.length, used.more)}
        </p>
        <span className="spacer" />
        <UndoTime />
        <Notify />
      </header>
      {used.error && <Failure error={used.error} retry={used.refresh} />}
      {used.isLoading && <Loading what="the approvals" />}
      {!used.isLoading && !current && !used.error && <NothingWaits />}
      {current && (
        <div className="inbox">
          <List approvals={approvals} current={current} onChoose={setAt} />
          <One key={current.callId} approval={current} onAnswer={given => answer(current, given)} />
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

function One({ approval, onAnswer }: OneProps): ReactElement {
  const { session, owner, agent, opening } = approval
  return (
    <div className="inbox-one">
      <Approval
        question={approvalQuestion(approval)}
        onAnswer={onAnswer}
        autoFocus
        renderSource={callId => {
          const seq = approval.flow?.find(({ call }) => call === callId)?.seq
          return seq === undefined ? null : <EventLink {...{ id: session, seq }}>Show it</EventLink>
        }}
      >
        <Fact name="Session">
          <Link to={`/sessions/${session}`} className="link">
            {shortId(session)}
          </Link>{' '}
          of {printable(owner, 40)}, agent {printable(agent, 40)}
          {opening !== undefined && `, began with “${printable(opening, 80)}”`}
        </Fact>
      </Approval>
    </div>
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

function useWalkKeys(move: (step: number) => void): void {
  const latest = useRef(move)
  latest.current = move
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || (event.target && isTyping(event.target))) return
      if (document.querySelector('dialog[open]')) return
      if (event.key === 'j') latest.current(1)
      else if (event.key === 'k') latest.current(-1)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
}

export function approvalQuestion(approval: OperatorApproval): ApprovalQuestion {
  const { tool, text, argsHash, toolHash, rule, reason, askedAt, expiresAt, last, flow } = approval
  return {
    callId: approval.callId,
    session: approval.session,
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
  }
}

type ListProps = {
  approvals: readonly OperatorApproval[]
  current: OperatorApproval
  onChoose: (callId: string) => void
}

function List({ approvals, current, onChoose }: ListProps): ReactElement {
  return (
    <ul className="inbox-list" aria-label="Waiting calls">
      {approvals.map(approval => (
        <li key={approval.callId}>
          <button
            type="button"
            className="inbox-item"
            aria-current={approval === current ? 'true' : undefined}
            onClick={() => onChoose(approval.callId)}
          >
            <span className="inbox-line">
              <span className="inbox-name">{printable(approval.tool.name, 60)}</span>
              {approval.askedAt !== undefined && <Time at={approval.askedAt} />}
            </span>
            <span className="tw-muted">{printable(approval.opening ?? approval.text, 80)}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}

function NothingWaits(): ReactElement {
  const { catalogue } = useConsole()
  const asking = catalogue?.agents.flatMap(({ tools }) => tools).find(({ trust }) => trust === 'ask')
  return (
    <Empty title="Nothing waits for you">
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
