// The text of an event that a search looks in: what was said, the names and arguments of calls, their results, and errors. Of
// sealed values it has what the log shows of them. Thinking is left out.
import type { CallPart } from './calls.ts'
import { joinText } from './content.ts'
import type { Event } from './events.ts'

/** Where a text was found. A call is found in an answer, unless it is nested. */
export type SearchPlace = 'said' | 'answer' | 'call' | 'result' | 'question' | 'error' | 'history'

const places: Partial<Record<Event['type'], SearchPlace>> = {
  'turn.started': 'said',
  'message.delivered': 'said',
  'model.answered': 'answer',
  'call.nested': 'call',
  'call.edited': 'call',
  'call.settled': 'result',
  'call.late': 'result',
  'question.asked': 'question',
  'turn.ended': 'error',
}

export function searchPlace({ type }: Event): SearchPlace {
  return places[type] ?? 'history'
}

/** Of longer texts a search knows the beginning and the end. */
const mostText = 16_000
const tailText = 4_000

/** Undefined: there is nothing to look for in it. */
export function searchText(event: Event): string | undefined {
  const text = wholeText(event)
  if (text === undefined || text.trim() === '') return undefined
  return text.length <= mostText ? text : `${text.slice(0, mostText - tailText)} ${text.slice(-tailText)}`
}

function wholeText(event: Event): string | undefined {
  switch (event.type) {
    case 'turn.started':
      return joinText(event.parts)
    case 'message.delivered':
      return event.parts && joinText(event.parts)
    case 'model.answered':
      return event.parts
        .map(part => (part.type === 'call' ? callText(part) : part.type === 'text' ? part.text : ''))
        .join('\n')
    case 'call.nested':
      return callText(event.call)
    case 'call.edited':
      return event.text
    case 'call.settled':
    case 'call.late': {
      const { kind, parts, errorType = '' } = event.outcome
      return `${kind} ${errorType} ${joinText(parts)}`
    }
    case 'question.asked':
      return event.message
    case 'turn.ended':
      return event.error && `${event.error.code} ${event.error.message}`
    case 'session.created':
      return event.seed
        .flatMap(entry =>
          entry.role === 'user' || entry.role === 'assistant' ? [joinText(entry.parts)] : [],
        )
        .join('\n')
    default:
      return undefined
  }
}

function callText({ name, text }: CallPart): string {
  return `${name} ${text}`
}
