// Arguments that hold secrets by the operator's rules. What is recorded, and so shown to everyone and sent to models, is
// the redacted text; the exact one is sealed beside it, for the gate and the tool.
import type { CallPart } from '../language/calls.ts'
import type { Event, ModelAnswered, QuestionAnswered } from '../language/events.ts'
import type { FormContent } from '../language/questions.ts'
import { hostedApproval } from '../language/tools.ts'
import { canonicalJson, parseJson } from '../lib/json.ts'
import type { Gate, Vault } from './ports.ts'
import type { Session } from './session.ts'
import { type CallState, findCall, type HiddenText, type QuestionState } from './state.ts'

type Redact = NonNullable<Gate['redactArguments']>

/** False also for what runs elsewhere: the application and the vendor need the arguments that they are to run with. */
export function hidesArguments(session: Session, tool: string): boolean {
  if (!session.agent.gate.redactArguments || tool === hostedApproval) return false
  return session.offer.byName.get(tool)?.side !== 'client'
}

/** The event as it may be recorded. */
export function withHiddenArguments(session: Session, event: Event, redact: Redact): Event {
  if (event.type === 'model.answered') return hideInAnswer(session, event, redact)
  if (event.type === 'question.answered') return hideInAnswerOfPerson(session, event, redact)
  if (event.type === 'call.nested') {
    if (!hidesArguments(session, event.call.name)) return event
    const text = redact(event.call.text, event.call.form)
    if (text === event.call.text) return event
    return { ...event, call: hideInCall(event.call, text, session.ports.vault, redact) }
  }
  if (event.type !== 'call.edited') return event
  const part = findCall(session.state, event.callId)?.part
  if (!part || !hidesArguments(session, part.name)) return event
  const text = redact(event.text, part.form)
  if (text === event.text) return event
  return { ...event, text, sealed: sealText(session.ports.vault, part.id, event.text) }
}

function hideInAnswer(session: Session, event: ModelAnswered, redact: Redact): ModelAnswered {
  let changed = false
  const parts = event.parts.map(part => {
    if (part.type !== 'call' || !hidesArguments(session, part.name)) return part
    const text = redact(part.text, part.form)
    if (text === part.text) return part
    changed = true
    return hideInCall(part, text, session.ports.vault, redact)
  })
  return changed ? { ...event, parts } : event
}

function hideInAnswerOfPerson(session: Session, event: QuestionAnswered, redact: Redact): QuestionAnswered {
  if (!event.content) return event
  const text = JSON.stringify(event.content)
  const shown = redact(text, 'json')
  if (shown === text) return event
  const content = parseJson(shown) as FormContent // Redaction changes texts, not the shape.
  return { ...event, content, sealed: sealText(session.ports.vault, event.question, text) }
}

/** The question with the content that the person gave. */
export function exactAnswer(session: Session, question: QuestionState): QuestionState {
  const { answer } = question
  if (answer?.sealed === undefined) return question
  const text = openText(session, { callId: question.id, sealed: answer.sealed })
  if (text === undefined) throw new Error('The answer was sealed and can no longer be opened.')
  return { ...question, answer: { ...answer, content: parseJson(text) as FormContent } } // As it was recorded.
}

function hideInCall(part: CallPart, text: string, vault: Vault, redact: Redact): CallPart {
  const { native, ...rest } = part
  const hidden: CallPart = { ...rest, text, sealed: sealText(vault, part.id, part.text) }
  const copy = native && JSON.stringify(native.data)
  if (native && copy !== undefined && redact(copy, 'json') === copy) hidden.native = native
  return hidden
}

// ---- the exact text ------------------------------------------------------------------------------------------

/** The vault seals other things too: the mark keeps one from being taken for another. */
const markOf = (callId: string): string => `arguments of ${callId}\n`

function sealText(vault: Vault, callId: string, text: string): string {
  return vault.seal(markOf(callId) + text)
}

function openText({ ports }: Session, { callId, sealed }: HiddenText): string | undefined {
  try {
    const opened = ports.vault.open(sealed)
    const mark = markOf(callId)
    return opened.startsWith(mark) ? opened.slice(mark.length) : undefined
  } catch {
    return undefined
  }
}

/** The arguments that the call runs with. Undefined: they were sealed with another key. */
export function exactText(session: Session, { part, text, sealed }: CallState): string | undefined {
  return sealed === undefined ? text : openText(session, { callId: part.id, sealed })
}

/** For comparing: two calls that look the same may differ in what is hidden. */
export function openHidden(session: Session): (hidden: HiddenText) => string {
  return hidden => openText(session, hidden) ?? hidden.sealed
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
