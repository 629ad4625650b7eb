// A call after something was shown of it (language/show.ts). Pure: gives a new object.

import type { Shown, ShownWait } from '../language/show.ts'
import { present } from '../lib/json/present.ts'
import { addViewUsage, type CallView, noUsage, type QuestionView } from './view.ts'

export type ShownOfCall = Extract<Shown, { callId: string }>

/** `seq` and `at`: of the event that it comes from. */
export function callAfter(call: CallView, seq: number, at: number, shown: ShownOfCall): CallView {
  switch (shown.type) {
    case 'waits':
      return waiting(call, seq, at, shown)
    case 'expired':
      return call.approval ? { ...call, approval: { ...call.approval, expired: true } } : call
    case 'decided':
      return decided(call, shown.decision)
    case 'edited': {
      const { text, argsHash, by } = shown.edit
      return { ...call, text, argsHash, edited: { by, original: call.edited?.original ?? call.text } }
    }
    case 'allowed':
      return { ...call, status: 'allowed', toolHash: shown.allowed.toolHash, allowed: shown.allowed }
    case 'started': {
      const { attempt, allowed } = shown
      const rule = allowed && { allowed, toolHash: allowed.toolHash }
      return { ...call, status: 'running', attempts: attempt, startedAt: call.startedAt ?? at, ...rule }
    }
    case 'result':
      return { ...call, status: shown.outcome.kind, outcome: shown.outcome, settledAt: at }
    case 'late':
      return { ...call, late: shown.outcome }
    case 'reconciled': {
      const { found, by, outcome } = shown.reconciled
      return { ...call, checked: { found, by, at, outcome } }
    }
    case 'delegated': {
      const { agent, session } = shown.to
      return { ...call, delegated: { agent, session, used: noUsage } }
    }
    case 'used': {
      const { delegated } = call
      const { usage, steps } = shown.used
      return delegated
        ? { ...call, delegated: { ...delegated, used: addViewUsage(delegated.used, usage, steps) } }
        : call
    }
    case 'closed': {
      const { question: id } = shown
      const { action } = shown.answer
      const answer = 'by' in shown.answer ? { action, by: shown.answer.by } : { action }
      const questions = (call.questions ?? []).map(each =>
        each.id === id ? { ...each, answer, closedAt: at } : each,
      )
      return { ...call, questions }
    }
    default:
      return call
  }
}

function waiting(call: CallView, seq: number, at: number, wait: ShownWait): CallView {
  if (wait.for === 'answer') return questioned(call, at, wait.question)
  if (wait.for === 'result') {
    const { argsHash, toolHash } = wait
    return { ...call, status: 'client', argsHash, toolHash }
  }
  const { argsHash, toolHash, rule, reason, expiresAt, preview, flow } = wait.asked
  const more = present({ reason, expiresAt, preview, flow })
  const approval = { seq, at, argsHash, toolHash, rule, ...more }
  return { ...call, status: 'waiting', argsHash, toolHash, approval }
}

function decided(call: CallView, decision: Extract<Shown, { type: 'decided' }>['decision']): CallView {
  const { granted, by, at, reason } = decision
  if (!call.approval) return call
  const made = { granted, by, at, ...(reason !== undefined && { reason }) }
  return { ...call, ...(granted && { status: 'allowed' }), approval: { ...call.approval, decided: made } }
}

function questioned(
  call: CallView,
  at: number,
  asked: Extract<ShownWait, { for: 'answer' }>['question'],
): CallView {
  const { id, message, schema, url, expiresAt } = asked
  const question: QuestionView = { id, message, at, ...present({ schema, url, expiresAt }) }
  return { ...call, questions: [...(call.questions ?? []).filter(each => each.id !== id), question] }
}
