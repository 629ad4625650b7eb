// A recorded session, read for a replay: its events in order, and what each of its calls came to.
import type { CallPart, Outcome } from '../language/calls.ts'
import { TurnwireError } from '../language/errors.ts'
import type { Event, ModelAnswered, Recorded, SessionCreated } from '../language/events.ts'

export type RecordedCall = {
  part: CallPart
  /** The text of its arguments as it ran: a person may have changed them. */
  text: string
  outcome?: Outcome
  /** A person was asked about it: who changes its arguments from then on decides about it. */
  wasAsked?: true
  /** A person gave it other arguments while deciding about it. */
  wasEdited?: true
  /** A hook or a person in control changed or refused it before it was judged. */
  change?: { text: string; sealed?: string } | { refuse: string }
  /** A person decided about it. */
  decision?: { granted: boolean; by: string; reason?: string }
}

export type Recording = {
  session: string
  created: SessionCreated
  events: readonly Event[]
  calls: ReadonlyMap<string, RecordedCall>
}

export function readRecording(session: string, log: readonly Recorded[]): Recording {
  const events = log.map(({ event }) => event)
  const [created] = events
  if (created?.type !== 'session.created')
    throw new TurnwireError('bad_request', `The log of ${session} does not begin with its creation.`)
  const calls = new Map<string, RecordedCall>()
  for (const event of events) takeCall(calls, event)
  return { session, created, events, calls }
}

function takeCall(calls: Map<string, RecordedCall>, event: Event): void {
  if (event.type === 'model.answered')
    for (const part of listCallParts(event)) calls.set(part.id, { part, text: part.text })
  else if (event.type === 'call.nested') calls.set(event.call.id, { part: event.call, text: event.call.text })
  else if (event.type === 'hook.acted') {
    const call = calls.get(event.call ?? '')
    if (call && event.hook === 'beforeCall' && event.change === 'refused')
      call.change = { refuse: event.reason ?? '' }
  } else if ('callId' in event) {
    const call = calls.get(event.callId)
    if (call) takeFate(call, event)
  }
}

function takeFate(call: RecordedCall, event: Event): void {
  if (event.type === 'call.settled') call.outcome = event.outcome
  else if (event.type === 'approval.requested') call.wasAsked = true
  else if (event.type === 'call.edited') {
    call.text = event.text
    if (call.wasAsked) call.wasEdited = true
    else {
      const { text, sealed } = event
      call.change = { text, ...(sealed !== undefined && { sealed }) }
    }
  } else if (event.type === 'approval.decided') {
    const { granted, by, reason } = event
    call.decision = { granted, by, ...(reason !== undefined && { reason }) }
  }
}

export function listCallParts({ parts }: ModelAnswered): CallPart[] {
  return parts.filter(part => part.type === 'call')
}

/** The caller asked for the tool itself: no model gave this answer. */
export function isByCaller({ model }: ModelAnswered): boolean {
  return model.startsWith('caller:')
}
