// One call: a line with its kind, name, most telling argument, outcome and duration; inside, everything that is known of it.
// Open by default are the calls that a person has to look at: those that wait, run, failed, were denied or are unknown.
import { memo, type ReactElement, type ReactNode, useEffect, useState } from 'react'
import type { Outcome } from '../language/calls.ts'
import type { ToolKind } from '../language/tools.ts'
import { printable } from '../lib/text/index.ts'
import { KindIcon } from './icons.tsx'
import { JsonTree } from './json-tree.tsx'
import { LaterDiff, LaterQuestion, LaterReport, LaterTerminal } from './later-parts.ts'
import { Output } from './output.tsx'
import { CopyButton, Fact, Fold, LongText, SafeText, Status, useNow } from './parts.tsx'
import type { QuestionAnswer } from './question.tsx'
import { type CallStatus, type CallView, isAsking } from './view.ts'
import {
  byteSize,
  callDuration,
  duration,
  outcomeSentence,
  parseCallArguments,
  prettyJson,
  ruleWords,
  tellingArgument,
} from './words.ts'

export type ToolCallProps = {
  call: CallView
  kind?: ToolKind | undefined
  /** Its name for people. */
  title?: string | undefined
  /** Shown inside while it waits for a person, such as an `<Approval>`. */
  approval?: ReactNode
  /** Answers a question of the running call. */
  onAnswer?: ((call: CallView, question: string, answer: QuestionAnswer) => unknown) | undefined
  /** Fetches the whole result, if the model was given only a part. */
  loadWhole?: ((blob: string) => Promise<string>) | undefined
  selected?: boolean
  onSelect?: (() => void) | undefined
  /** Overrides which calls are open at first. */
  open?: boolean | undefined
  /** Further lines of the details, such as links. */
  children?: ReactNode
}

const openAtFirst: readonly CallStatus[] = [
  'writing',
  'waiting',
  'client',
  'running',
  'error',
  'denied',
  'invalid',
  'timeout',
  'unknown',
]

export const ToolCall = memo(function ToolCall(props: ToolCallProps): ReactElement {
  const { call, kind, title, approval, selected, onSelect } = props
  const [chosen, setChosen] = useState<boolean>()
  const isOpen = chosen ?? props.open ?? openAtFirst.includes(call.status)
  const report = call.outcome?.report ?? call.report
  return (
    <article
      className={`tw-call tw-call-${call.status}${selected ? ' tw-selected' : ''}`}
      data-call={call.id}
      data-status={call.status}
      data-parent={call.parent}
      aria-label={`Call of ${printable(call.name, 80)}`}
    >
      <h4 className="tw-call-head">
        <button
          type="button"
          className="tw-call-line"
          aria-expanded={isOpen}
          onClick={() => {
            setChosen(!isOpen)
            onSelect?.()
          }}
        >
          <KindIcon kind={kind} />
          <span className="tw-call-name" title={title === undefined ? undefined : printable(title, 120)}>
            {printable(call.name, 80)}
          </span>
          <span className="tw-call-argument">{tellingArgument(call)}</span>
          <Hand call={call} />
          <CallState call={call} />
          <Took call={call} />
        </button>
      </h4>
      {isOpen && (
        <div className="tw-call-body">
          {call.status === 'waiting' && approval ? approval : <Arguments call={call} />}
          {call.questions?.map(question => (
            <LaterQuestion
              key={question.id}
              question={question}
              onAnswer={props.onAnswer && (answer => props.onAnswer?.(call, question.id, answer))}
            />
          ))}
          {report && <LaterReport report={report} />}
          <Live call={call} />
          <CallResultPart call={call} loadWhole={props.loadWhole} />
          {!(call.status === 'waiting' && approval) && <Facts call={call} />}
          {props.children}
        </div>
      )}
    </article>
  )
})

/** The person who changed or decided it, where the line is all that is seen of a call. */
function Hand({ call: { edited, approval } }: { call: CallView }): ReactElement | null {
  const decided = approval?.decided
  const words = edited
    ? `edited by ${edited.by}`
    : decided && `${decided.granted ? 'allowed' : 'refused'} by ${decided.by}`
  return words === undefined ? null : <span className="tw-call-hand">{printable(words, 60)}</span>
}

/** A running call that asks a person waits, as a call does that asks whether it may run. */
function CallState({ call }: { call: CallView }): ReactElement {
  return isAsking(call) ? (
    <Status status="waiting" words="waits for an answer" />
  ) : (
    <Status status={call.status} />
  )
}

function Took({ call }: { call: CallView }): ReactElement | null {
  const isRunning = call.status === 'running' && call.startedAt !== undefined
  const now = useNow(isRunning, 1000)
  const ms =
    isRunning && call.startedAt !== undefined ? Math.max(0, now - call.startedAt) : callDuration(call)
  return ms === undefined ? null : <span className="tw-took">{duration(ms)}</span>
}

/** Arguments as a tree; while they arrive, as the text so far. */
export function Arguments({
  call,
}: {
  call: Pick<CallView, 'text' | 'form' | 'status' | 'edited'>
}): ReactElement {
  const value = parseCallArguments(call)
  const isWriting = call.status === 'writing'
  const before = call.edited && parseCallArguments({ text: call.edited.original, form: call.form })
  return (
    <section className="tw-arguments" aria-busy={isWriting} aria-label="Arguments">
      {value === undefined || isWriting ? (
        <pre className="tw-text">
          <SafeText text={call.text === '' && !isWriting ? '(no arguments)' : call.text} />
          {isWriting && <span className="tw-caret" aria-hidden="true" />}
        </pre>
      ) : (
        <JsonTree value={value} raw={call.text} label="Arguments" />
      )}
      {call.edited && (
        <Fold label={`Changed by ${printable(call.edited.by, 60)} before it ran`} open>
          <LaterDiff before={prettyJson(before, call.edited.original)} after={prettyJson(value, call.text)} />
        </Fold>
      )}
    </section>
  )
}

function Live({ call }: { call: CallView }): ReactElement | null {
  const { progress, output } = call
  if (call.outcome || (!progress && output === '')) return null
  const { message, done, total } = progress ?? {}
  return (
    <section className="tw-live" aria-label="Progress">
      {progress && (
        <p className="tw-progress">
          {done !== undefined && total !== undefined && (
            <progress value={done} max={total} aria-label="Done so far" />
          )}
          <span>
            {printable(
              message ?? (done === undefined ? '' : `${done}${total === undefined ? '' : ` of ${total}`}`),
              200,
            )}
          </span>
        </p>
      )}
      {output !== '' && <LaterTerminal text={output} label="Output so far" />}
    </section>
  )
}

function CallResultPart(props: {
  call: CallView
  loadWhole: ToolCallProps['loadWhole']
}): ReactElement | null {
  const { call, loadWhole } = props
  const { outcome, late } = call
  const sentence = outcomeSentence(call)
  if (!outcome) return null
  return (
    <section className="tw-result" aria-label="Result">
      {sentence !== undefined && <p className="tw-sentence">{sentence}</p>}
      <Output parts={outcome.parts} structured={outcome.structured} />
      {outcome.cut && (
        <Whole bytes={outcome.cut.bytes} load={loadWhole && (() => loadWhole(outcome.cut?.blob ?? ''))} />
      )}
      <Details outcome={outcome} />
      {call.checked?.found === 'ran' && (
        <Fold label="Its result, as its tool gave it afterwards" open>
          <Output parts={call.checked.outcome.parts} structured={call.checked.outcome.structured} />
        </Fold>
      )}
      {late && (
        <Fold label="A result came later. No model was shown it.">
          <Output parts={late.parts} />
        </Fold>
      )}
    </section>
  )
}

/** The tool's details for people, which the model did not see. */
function Details({ outcome: { details, detailsCut } }: { outcome: Outcome }): ReactElement | null {
  if (detailsCut !== undefined)
    return (
      <p className="tw-muted">
        {detailsCut === 0
          ? 'Its details were left out: they are not JSON, or nest too deeply.'
          : `Its details were left out: they have ${byteSize(detailsCut)}.`}
      </p>
    )
  if (details === undefined) return null
  return (
    <Fold label="Details. No model was shown them.">
      <JsonTree value={details} label="Details" />
    </Fold>
  )
}

/** The whole output, of which the model saw a part. It is loaded on demand. */
function Whole({ bytes, load }: { bytes: number; load: (() => Promise<string>) | undefined }): ReactElement {
  const [whole, setWhole] = useState<string>()
  const [failed, setFailed] = useState(false)
  useEffect(() => setWhole(undefined), [])
  if (whole !== undefined)
    return (
      <Fold label={`The whole result, ${byteSize(bytes)}`} open>
        <LongText text={whole} />
      </Fold>
    )
  return (
    <p className="tw-muted">
      The model saw this part. The whole result has {byteSize(bytes)}.{' '}
      {load && !failed && (
        <button
          type="button"
          className="tw-button tw-small"
          onClick={() => void load().then(setWhole, () => setFailed(true))}
        >
          Show it whole
        </button>
      )}
      {failed && 'It could not be read.'}
    </p>
  )
}

function Facts({ call }: { call: CallView }): ReactElement {
  const { approval, allowed, outcome, toolHash, argsHash, attempts } = call
  const decided = approval?.decided
  const facts: [string, string][] = []
  if (decided)
    facts.push([
      decided.granted ? 'Allowed by' : 'Refused by',
      `${decided.by}${decided.reason === undefined ? '' : `: ${decided.reason}`}`,
    ])
  else if (allowed)
    facts.push([
      'Allowed by',
      allowed.grantId === undefined ? `${ruleWords(allowed.rule)}` : `grant ${allowed.grantId}`,
    ])
  if (approval) facts.push(['Asked because', ruleWords(approval.rule)])
  if (call.checked) facts.push(['Checked by', call.checked.by])
  if (call.delegated) {
    const { agent, used } = call.delegated
    const tokens = (used.input + used.output).toLocaleString('en')
    facts.push(['Carried out by', `the agent ${agent}, ${tokens} tokens`])
  }
  if (attempts > 1) facts.push(['Attempts', String(attempts)])
  const [place] = outcome?.thrown?.stack ?? []
  if (place !== undefined) facts.push(['Thrown at', place])
  if (outcome?.redactions) facts.push(['Redacted', `${outcome.redactions} values`])
  if (outcome) facts.push(['Result from', provenance(outcome.from)])
  const { sources = [], wholeBytes } = outcome?.provenance ?? {}
  if (sources.length > 0) facts.push(['Read', sources.map(({ uri }) => uri).join(', ')])
  if (wholeBytes !== undefined) facts.push(['Cut', `from ${wholeBytes.toLocaleString('en')} bytes`])
  return (
    <dl className="tw-facts">
      {facts.map(([name, value]) => (
        <Fact key={name} name={name}>
          {printable(value, 300)}
        </Fact>
      ))}
      <Hash name="Definition" value={toolHash} />
      <Hash name="Arguments" value={argsHash} />
      <Fact name="Call">
        <code>{call.id.slice(0, 12)}</code> <CopyButton text={call.id} label="Copy id" />
      </Fact>
    </dl>
  )
}

function Hash({ name, value }: { name: string; value: string | undefined }): ReactElement | null {
  if (value === undefined) return null
  return (
    <Fact name={`${name} hash`}>
      <code title={value}>{value.slice(0, 12)}</code>
    </Fact>
  )
}

function provenance(from: NonNullable<CallView['outcome']>['from']): string {
  if (from.source === 'tool') return `the tool ${from.tool}`
  if (from.source === 'person') return `a person, ${from.by}`
  return from.source === 'client' ? 'the application' : 'the runtime'
}
