// A question to a person: may this call run? It shows what will happen, all arguments, what changed since the last approved
// call of the tool, why it is asked and where it comes from. Allow once (a), Edit (e), Always (Shift+A), Reject (r).
import {
  type KeyboardEvent,
  type ReactElement,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react'
import { type Approvers, describeApprovers, neededVotes, type Person } from '../language/approvers.ts'
import { type FlowFact, withoutFacts } from '../language/flow.ts'
import type { Report } from '../language/report.ts'
import { findSuspicions } from '../language/suspicions.ts'
import type { ToolKind } from '../language/tools.ts'
import type { Json, JsonObject } from '../lib/json/index.ts'
import { errorMessage } from '../lib/text/error-message.ts'
import { printable } from '../lib/text/index.ts'
import type { Scope } from './approval-always.tsx'
import { FlowFacts } from './flow-facts.tsx'
import { Form, FormButtons, Problem } from './forms.tsx'
import { KindIcon } from './icons.tsx'
import { isTyping } from './is-typing.ts'
import { JsonTree } from './json-tree.tsx'
import { LaterAlwaysForm, LaterDiff, LaterEditForm, LaterReport } from './later-parts.ts'
import { Fact, Fold, LongText, Time, Warnings } from './parts.tsx'
import type { SessionConnection } from './session-page.ts'
import { useReconnected } from './use-reconnected.ts'
import { callSentence, parseCallArguments, prettyJson, ruleWords } from './words.ts'

export type ApprovalQuestion = {
  callId: string
  /** The session that asks, and the message that led to the call. */
  session?: string
  message?: string | undefined
  tool: {
    name: string
    title?: string | undefined
    description?: string | undefined
    kind?: ToolKind | undefined
    destructive?: boolean | undefined
    schema?: JsonObject | undefined
  }
  form: 'json' | 'text'
  text: string
  argsHash: string
  toolHash?: string | undefined
  rule: string
  reason?: string | undefined
  askedAt: number
  expiresAt?: number | undefined
  expired?: boolean | undefined
  /** The newest approved call of the same tool. */
  last?: { text: string; at: number } | undefined
  /** The tool's report of what the call would do. */
  preview?: Report | undefined
  /** Where its arguments came from, if that is why it asks. */
  flow?: readonly FlowFact[] | undefined
  /** Who may decide, and who has allowed it while more people have to. Absent: anyone may. */
  approvers?: Approvers | undefined
  votes?: readonly Person[] | undefined
  /** Why the one who looks at it may not allow it. */
  whyNot?: string | undefined
  /** How the definition differs from the one that was accepted before, as two texts. */
  changed?: { before: string; after: string } | undefined
}

export type ApprovalAnswer =
  | { granted: true; seen: string; edit?: JsonObject | string; always?: Scope }
  | { granted: false; seen: string; reason?: string; always?: Scope }

export type ApprovalProps = {
  question: ApprovalQuestion
  /** A promise that rejects keeps the question, and its message is shown. */
  onAnswer: (answer: ApprovalAnswer) => unknown
  /** Takes the focus when it appears. A destructive tool's Allow never has it. */
  autoFocus?: boolean
  /** Which scopes "Always…" offers. None: the button is not there. */
  scopes?: readonly Scope['covers'][]
  /** Of the session. An error is not shown any longer once the server is back. */
  connection?: SessionConnection | undefined
  /** A link to the call that read a value. */
  renderSource?: (callId: string) => ReactNode
  /** Links to where it comes from. */
  children?: ReactNode
}

type Mode = 'ask' | 'edit' | 'always' | 'reject'
const usualScopes: readonly Scope['covers'][] = ['same', 'where', 'any']

export function Approval(props: ApprovalProps): ReactElement {
  const { question, scopes = usualScopes } = props
  const [mode, setMode] = useState<Mode>('ask')
  const { busy, problem, answer } = useAnswer(props.onAnswer, props.connection)
  const heading = useId()
  const box = useRef<HTMLElement>(null)
  useFirstFocus(box, props.autoFocus)
  const allow = (): void => answer({ granted: true, seen: question.argsHash })
  const back = (): void => {
    setMode('ask')
    box.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape' && mode !== 'ask') {
      event.stopPropagation()
      back()
      return
    }
    if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey || busy || mode !== 'ask')
      return
    const next = modeKeys[event.key]
    if (question.whyNot !== undefined && next !== 'reject') return
    if (event.key !== 'a' && (next === undefined || (next === 'always' && scopes.length === 0))) return
    event.preventDefault()
    event.stopPropagation()
    if (next !== undefined) setMode(next)
    else if (!question.expired) allow()
  }
  return (
    <section
      ref={box}
      className="tw-approval"
      aria-labelledby={heading}
      tabIndex={-1}
      onKeyDown={onKeyDown}
      data-call={question.callId}
    >
      <h3 id={heading} className="tw-approval-title">
        <KindIcon kind={question.tool.kind} />
        <span>{describeApproval(question)}</span>
      </h3>
      <QuestionWarnings question={question} />
      <FlowFacts facts={question.flow ?? []} renderSource={props.renderSource} />
      <GivenApproval question={question} />
      <Origin question={question}>{props.children}</Origin>
      <Decision
        question={question}
        scopes={scopes}
        mode={mode}
        setMode={setMode}
        busy={busy}
        answer={answer}
        back={back}
      />
      <Problem text={problem} />
    </section>
  )
}

/** A page whose upper half shows its head already is not scrolled. */
function useFirstFocus(box: { current: HTMLElement | null }, isOn: boolean | undefined): void {
  useEffect(() => {
    const element = box.current
    if (!isOn || !element) return
    const { top } = element.getBoundingClientRect()
    element.focus({ preventScroll: top >= 0 && top < innerHeight / 2 })
  }, [box, isOn])
}

const modeKeys: Readonly<Record<string, Mode | undefined>> = { e: 'edit', r: 'reject', A: 'always' }

/** One answer at a time. A refusal by the server is shown, and the question stays. */
function useAnswer(
  onAnswer: ApprovalProps['onAnswer'],
  connection: SessionConnection | undefined,
): {
  busy: boolean
  problem: string | undefined
  answer: (given: ApprovalAnswer) => void
} {
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  useReconnected(connection, () => setProblem(undefined))
  const answer = (given: ApprovalAnswer): void => {
    setBusy(true)
    setProblem(undefined)
    Promise.resolve(onAnswer(given)).catch((error: unknown) => {
      setProblem(errorMessage(error))
      setBusy(false)
    })
  }
  return { busy, problem, answer }
}

type DecisionProps = {
  question: ApprovalQuestion
  scopes: readonly Scope['covers'][]
  mode: Mode
  setMode: (mode: Mode) => void
  busy: boolean
  answer: (given: ApprovalAnswer) => void
  back: () => void
}

/** The buttons, or the form that one of them opened. */
function Decision(props: DecisionProps): ReactElement {
  const { question, scopes, mode, busy, answer, back } = props
  const seen = question.argsHash
  switch (mode) {
    case 'ask':
      return <Buttons {...props} />
    case 'edit':
      return (
        <LaterEditForm
          question={question}
          busy={busy}
          onCancel={back}
          onDone={edit => answer({ granted: true, seen, edit })}
        />
      )
    case 'always':
      return (
        <LaterAlwaysForm
          question={question}
          scopes={scopes}
          busy={busy}
          onCancel={back}
          onDone={always => answer({ granted: true, seen, always })}
        />
      )
    case 'reject':
      return (
        <RejectForm
          busy={busy}
          onCancel={back}
          onDone={reason => answer({ granted: false, seen, ...(reason !== '' && { reason }) })}
        />
      )
  }
}

function Buttons({ question, scopes, setMode, busy, answer }: DecisionProps): ReactElement {
  const isOthers = question.whyNot !== undefined
  const allow = (): void => answer({ granted: true, seen: question.argsHash })
  const button = (label: string, keys: string, onClick: () => void, look = '', off = false): ReactElement => (
    <button
      type="button"
      className={`tw-button ${look}`}
      onClick={onClick}
      disabled={busy || off}
      aria-keyshortcuts={keys}
    >
      {label}
    </button>
  )
  return (
    <div className="tw-actions">
      {button('Allow once', 'a', allow, 'tw-primary', isOthers || question.expired)}
      {button('Edit…', 'e', () => setMode('edit'), '', isOthers)}
      {scopes.length > 0 && button('Always…', 'Shift+A', () => setMode('always'), '', isOthers)}
      {button('Reject…', 'r', () => setMode('reject'), 'tw-danger')}
    </div>
  )
}

function describeApproval({ tool, form, text }: ApprovalQuestion): string {
  return callSentence(tool.name, tool.title, parseCallArguments({ form, text }), text)
}

function QuestionWarnings({ question }: { question: ApprovalQuestion }): ReactElement {
  const { tool, form, text, expired, whyNot } = question
  const value: Json = parseCallArguments({ form, text }) ?? text
  const warnings = [
    ...(expired ? ['The time for an answer is over. It can only be rejected.'] : []),
    ...(whyNot === undefined ? [] : [`You cannot allow this: ${printable(whyNot, 200)}.`]),
    ...(tool.destructive ? ['This tool may destroy or send something that cannot be taken back.'] : []),
    ...findSuspicions(value),
  ]
  return <Warnings words={warnings} />
}

/** What the call would change, what is different from last time, all arguments, and how the definition changed. */
function GivenApproval({ question }: { question: ApprovalQuestion }): ReactElement {
  const { form, text, last, changed } = question
  const value = parseCallArguments({ form, text })
  return (
    <div className="tw-given">
      {question.preview && <LaterReport report={question.preview} />}
      {last && (
        <Fold
          open
          label={
            <>
              Changed since the last approved call (<Time at={last.at} />)
            </>
          }
        >
          <LaterDiff
            before={prettyJson(parseCallArguments({ form, text: last.text }), last.text)}
            after={prettyJson(value, text)}
            label="Changed since the last approved call"
            language="json"
          />
        </Fold>
      )}
      {value === undefined ? (
        <LongText text={text} />
      ) : (
        <JsonTree value={value} raw={text} label="Arguments" />
      )}
      {changed && (
        <Fold open label="The definition of this tool has changed since it was accepted">
          <LaterDiff
            before={changed.before}
            after={changed.after}
            label="How the definition changed"
            language="json"
          />
        </Fold>
      )}
    </div>
  )
}

/** As in: 2 people with the role "finance". 1 of 2 so far: ben. */
function approversWords(approvers: Approvers, votes: readonly Person[] = []): string {
  const needed = neededVotes(approvers)
  const names = votes.map(({ name }) => name).join(', ')
  const so = needed === 1 ? '' : `. ${votes.length} of ${needed} so far${names === '' ? '' : `: ${names}`}`
  return printable(`${describeApprovers(approvers)}${so}`, 400)
}

function Origin({ question, children }: { question: ApprovalQuestion; children: ReactNode }): ReactElement {
  const { rule, askedAt, expiresAt, argsHash, message, flow, approvers, votes } = question
  const isForeign = flow?.some(({ warranted }) => !warranted)
  const own = flow ? withoutFacts(question.reason, flow) : question.reason
  const reason = isForeign ? [own, 'Some of its arguments are not from you.'].filter(Boolean).join(' ') : own
  return (
    <dl className="tw-facts">
      <Fact name="Why it asks">{printable(reason ?? ruleWords(rule), 300)}</Fact>
      {approvers && <Fact name="Needs">{approversWords(approvers, votes)}</Fact>}
      {message !== undefined && <Fact name="Message">{printable(message, 200)}</Fact>}
      <Fact name="Asked">
        <Time at={askedAt} />
        {expiresAt !== undefined && (
          <>
            , ends <Time at={expiresAt} />
          </>
        )}
      </Fact>
      <Fact name="Arguments hash">
        <code title={argsHash}>{argsHash.slice(0, 16)}</code>
      </Fact>
      {children}
    </dl>
  )
}

function RejectForm(props: {
  busy: boolean
  onCancel: () => void
  onDone: (reason: string) => void
}): ReactElement {
  const [reason, setReason] = useState('')
  const field = useId()
  return (
    <Form onSubmit={() => props.onDone(reason.trim())}>
      <label htmlFor={field}>Why not? The model will read this.</label>
      <input
        id={field}
        className="tw-input"
        value={reason}
        onChange={event => setReason(event.target.value)}
        autoFocus
        maxLength={2000}
      />
      <FormButtons
        label="Reject"
        look="tw-danger"
        disabled={props.busy}
        other={{ label: 'Back', onClick: props.onCancel }}
      />
    </Form>
  )
}
