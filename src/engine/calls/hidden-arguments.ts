// Hides secrets in arguments, by the operator's rules or the tool's own. The redacted text is recorded, shown and sent
// to models; the exact text is sealed beside it, for the gate and the tool.
import type { CallPart } from '../../language/calls.ts'
import type { Event, ModelAnswered, QuestionAnswered } from '../../language/events.ts'
import type { FormContent } from '../../language/questions.ts'
import { hostedApproval } from '../../language/tools.ts'
import { canonicalJson, parseJson } from '../../lib/json/index.ts'
import type { Gate, Vault } from '../ports/index.ts'
import { type CallState, findCall, type HiddenText, type QuestionState } from '../rules/state.ts'
import type { CallSession } from './call-session.ts'

type Redact = NonNullable<Gate['redactArguments']>

/** Nothing also for what runs elsewhere: the application and the vendor need the arguments that they are to run with. */
function findRedactor(session: CallSession, tool: string): Redact | undefined {
  if (tool === hostedApproval) return undefined
  const offered = session.offer.byName.get(tool)
  if (offered?.side === 'client') return undefined
  const { redactArguments: byRule } = session.agent.gate
  const byTool = offered?.tool
  if (!byTool?.hideArguments) return byRule
  return (text, form) => {
    const hidden = byTool.hideArguments?.(text, session.id) ?? text
    return byRule ? byRule(hidden, form) : hidden
  }
}

export function hidesArguments(session: CallSession, tool: string): boolean {
  return findRedactor(session, tool) !== undefined
}

/** True: the tool itself says what of its arguments nobody may read. */
export function isHiddenByTool(session: CallSession, tool: string): boolean {
  const offered = session.offer.byName.get(tool)
  return offered?.side === 'server' && offered.tool.hideArguments !== undefined
}

/** The events as they may be recorded. */
export function hideArguments(session: CallSession, events: readonly Event[]): readonly Event[] {
  return session.offer.hidesArguments ? events.map(event => hideInEvent(session, event)) : events
}

function hideInEvent(session: CallSession, event: Event): Event {
  if (event.type === 'model.answered') return hideInAnswer(session, event)
  if (event.type === 'question.answered') return hideInAnswerOfPerson(session, event)
  if (event.type === 'call.nested') {
    const call = hideInCall(session, event.call)
    return call === event.call ? event : { ...event, call }
  }
  if (event.type !== 'call.edited') return event
  const part = findCall(session.state, event.callId)?.part
  const redact = part && findRedactor(session, part.name)
  if (!redact) return event
  const text = redact(event.text, part.form)
  if (text === event.text) return event
  return { ...event, text, sealed: sealText(session.ports.vault, part.id, event.text) }
}

function hideInAnswer(session: CallSession, event: ModelAnswered): ModelAnswered {
  const parts = event.parts.map(part => (part.type === 'call' ? hideInCall(session, part) : part))
  return parts.every((part, index) => part === event.parts[index]) ? event : { ...event, parts }
}

function hideInAnswerOfPerson(session: CallSession, event: QuestionAnswered): QuestionAnswered {
  const { redactArguments: redact } = session.agent.gate
  if (!event.content || !redact) return event
  const text = JSON.stringify(event.content)
  const shown = redact(text, 'json')
  if (shown === text) return event
  const content = parseJson(shown) as FormContent // Redaction changes texts, not the shape.
  return { ...event, content, sealed: sealText(session.ports.vault, event.question, text) }
}

/** The question with the content that the person gave. */
export function exactAnswer(session: CallSession, question: QuestionState): QuestionState {
  const { answer } = question
  if (answer?.sealed === undefined) return question
  const text = openArguments(session.ports.vault, { callId: question.id, sealed: answer.sealed })
  if (text === undefined) throw new Error('The answer was sealed and can no longer be opened.')
  return { ...question, answer: { ...answer, content: parseJson(text) as FormContent } } // As it was recorded.
}

/** The same part when it holds no secret. */
function hideInCall(session: CallSession, part: CallPart): CallPart {
  const redact = findRedactor(session, part.name)
  const text = redact?.(part.text, part.form) ?? part.text
  if (!redact || text === part.text) return part
  const { native, ...rest } = part
  const hidden: CallPart = { ...rest, text, sealed: sealText(session.ports.vault, part.id, part.text) }
  // A tool knows its own arguments, not the vendor's form of them.
  const copy = native && !isHiddenByTool(session, part.name) ? JSON.stringify(native.data) : undefined
  if (native && copy !== undefined && redact(copy, 'json') === copy) hidden.native = native
  return hidden
}

// ---- the exact text ------------------------------------------------------------------------------------------

/** Keeps the arguments of one call, or the answer to one question, from being taken for those of another. */
const hiddenMark = (callId: string): string => `arguments of ${callId}\n`

function sealText(vault: Vault, callId: string, text: string): string {
  return vault.seal(hiddenMark(callId) + text, 'arguments')
}

/** Undefined: they are of another call, or were sealed with another key. */
export function openArguments(
  vault: Pick<Vault, 'open'>,
  { callId, sealed }: HiddenText,
): string | undefined {
  try {
    const opened = vault.open(sealed, 'arguments')
    const mark = hiddenMark(callId)
    return opened.startsWith(mark) ? opened.slice(mark.length) : undefined
  } catch {
    return undefined
  }
}

/** The arguments that the call runs with. Undefined: they are sealed, and the vault, if there is one, cannot open them. */
export function exactText(
  vault: Pick<Vault, 'open'> | undefined,
  { part, text, sealed }: CallState,
): string | undefined {
  return sealed === undefined ? text : vault && openArguments(vault, { callId: part.id, sealed })
}

/** For comparing: two calls that look the same may differ in what is hidden. */
export function openHidden(session: CallSession): (hidden: HiddenText) => string {
  return hidden => openArguments(session.ports.vault, hidden) ?? hidden.sealed
}

/** A client that sends back the arguments as they were shown has changed nothing. */
export function isAsShown({ part, text, sealed }: CallState, edit: string): boolean {
  if (sealed === undefined) return false
  if (edit === text) return true
  if (part.form === 'text') return false
  try {
    return canonicalJson(parseJson(edit)) === canonicalJson(parseJson(text))
  } catch {
    return false
  }
}
