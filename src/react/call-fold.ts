// A call after an event about it. Pure: gives a new object.
import type { Event } from '../language/events.ts'
import { addUsage, type CallView, noUsage, type QuestionView } from './view.ts'

export type CallEvent = Extract<Event, { callId: string }>

export function callAfter(call: CallView, seq: number, event: CallEvent): CallView {
  const { at } = event
  switch (event.type) {
    case 'call.handed':
      return { ...call, status: 'client', argsHash: event.argsHash, toolHash: event.toolHash }
    case 'approval.requested':
      return asked(call, seq, event)
    case 'approval.expired':
      return call.approval ? { ...call, approval: { ...call.approval, expired: true } } : call
    case 'approval.decided':
      return decided(call, event)
    case 'call.edited':
      return {
        ...call,
        text: event.text,
        argsHash: event.argsHash,
        edited: { by: event.by, original: call.edited?.original ?? call.text },
      }
    case 'call.allowed':
      return { ...call, status: 'allowed', toolHash: event.toolHash, allowed: event }
    case 'call.started':
      return {
        ...call,
        status: 'running',
        attempts: event.attempt,
        startedAt: call.startedAt ?? at,
        ...(event.allowed && { allowed: event.allowed, toolHash: event.allowed.toolHash }),
      }
    case 'call.settled':
      return { ...call, status: event.outcome.kind, outcome: event.outcome, settledAt: at }
    case 'call.late':
      return { ...call, late: event.outcome }
    case 'call.delegated':
      return { ...call, delegated: { agent: event.agent, session: event.session, used: noUsage } }
    case 'call.used': {
      const { delegated } = call
      if (!delegated) return call
      return {
        ...call,
        delegated: { ...delegated, used: addUsage(delegated.used, event.usage, event.steps) },
      }
    }
    case 'question.asked':
      return questioned(call, event)
    case 'question.answered':
      return answered(call, event.question, { action: event.action, by: event.by })
    case 'question.expired':
      return answered(call, event.question, { action: 'expired' })
    case 'question.withdrawn':
      return answered(call, event.question, { action: 'withdrawn' })
    default:
      return call
  }
}

function asked(call: CallView, seq: number, event: Extract<Event, { type: 'approval.requested' }>): CallView {
  const { at, argsHash, toolHash, rule, reason, expiresAt, preview } = event
  const approval = {
    seq,
    at,
    argsHash,
    toolHash,
    rule,
    ...(reason !== undefined && { reason }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(preview && { preview }),
  }
  return { ...call, status: 'waiting', argsHash, toolHash, approval }
}

function decided(call: CallView, event: Extract<Event, { type: 'approval.decided' }>): CallView {
  const { granted, by, at, reason } = event
  if (!call.approval) return call
  const decision = { granted, by, at, ...(reason !== undefined && { reason }) }
  return { ...call, ...(granted && { status: 'allowed' }), approval: { ...call.approval, decided: decision } }
}

function questioned(call: CallView, event: Extract<Event, { type: 'question.asked' }>): CallView {
  const { question: id, message, at, schema, url, expiresAt } = event
  const question: QuestionView = {
    id,
    message,
    at,
    ...(schema && { schema }),
    ...(url !== undefined && { url }),
    ...(expiresAt !== undefined && { expiresAt }),
  }
  return { ...call, questions: [...(call.questions ?? []).filter(each => each.id !== id), question] }
}

function answered(call: CallView, id: string, answer: NonNullable<QuestionView['answer']>): CallView {
  const questions = (call.questions ?? []).map(each => (each.id === id ? { ...each, answer } : each))
  return { ...call, questions }
}
