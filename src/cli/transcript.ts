// A session's log for people: lines for each event, in order. Text of models, tools and clients is bounded and made
// printable.
import { describeApprovers } from '../language/approvers.ts'
import type { CallPart } from '../language/calls.ts'
import { joinText } from '../language/content.ts'
import type { BudgetDecided, Event, Recorded } from '../language/events.ts'
import type { AnswerPart } from '../language/history.ts'
import { dollars } from '../lib/text/dollars.ts'
import { printable } from '../lib/text/index.ts'
import type { Styles } from './style.ts'

const longestText = 2000

export function writeTranscript(log: readonly Recorded[], style: Styles): string {
  const calls = new Map<string, CallPart>()
  let text = ''
  for (const { event } of log) {
    if (event.type === 'model.answered')
      for (const part of event.parts) if (part.type === 'call') calls.set(part.id, part)
    if (event.type === 'call.nested') calls.set(event.call.id, event.call)
    for (const line of eventLines(event, calls, style))
      text += `${style.dim(new Date(event.at).toISOString().slice(11, 19))}  ${line}\n`
  }
  return text
}

/** The tokens of all model steps, and their cost if it is known. Empty: nothing was counted. */
export function spentIn(log: readonly Recorded[]): string {
  let tokens = 0
  let cost = 0
  for (const { event } of log) {
    if (!('usage' in event) || !event.usage) continue
    tokens += event.usage.input + event.usage.output
    cost += event.usage.cost ?? 0
  }
  if (tokens === 0) return ''
  const price = cost === 0 ? '' : `, cost ${dollars(cost)}`
  return `${tokens.toLocaleString('en')} tokens${price}`
}

function eventLines(event: Event, calls: ReadonlyMap<string, CallPart>, style: Styles): string[] {
  const { dim, cyan, yellow } = style
  if ('callId' in event) {
    const tool = cutText(calls.get(event.callId)?.name ?? event.callId, 128)
    const isRule = event.type === 'call.forbidden' || event.type === 'policy.shadowed'
    return isRule ? [dim(ruleLine(event, style.bold(tool)))] : callLines(event, tool, style)
  }
  switch (event.type) {
    case 'session.created':
      return [dim(`session of ${cutText(event.agent, 128)} created over ${cutText(event.wire, 40)}`)]
    case 'turn.started':
      return [`${cyan('user')}   ${cutText(joinText(event.parts) || '(no text)')}`]
    case 'model.answered':
      return event.parts.map(part => answerLine(part, style))
    case 'call.nested':
      return [`${dim('within')} ${answerLine(event.call, style)}`]
    case 'turn.ended': {
      const limit = event.limit === undefined ? '' : ` (${event.limit})`
      return [dim(`turn over: ${event.stop}${limit}${detail(event.error?.message)}`)]
    }
    case 'control.taken':
      return [`${yellow('taken over')} by ${cutText(event.by, 80)}`]
    case 'control.returned':
      return [`${yellow('given back')} by ${cutText(event.by, 80)}`]
    case 'message.queued':
      return [`${yellow('waits')}  (${event.during}) ${cutText(joinText(event.parts) || '(no text)')}`]
    case 'message.delivered':
      return event.parts ? [`${cyan('user')}   ${cutText(joinText(event.parts) || '(no text)')}`] : []
    case 'message.withdrawn':
      return [dim(`gone   a message was withdrawn by ${cutText(event.by, 80)}${detail(event.reason)}`)]
    case 'grant.given':
      return [dim(`grant for ${cutText(event.grant.tool, 128)} by ${cutText(event.grant.by, 80)}`)]
    case 'grant.revoked':
      return [dim(`grant revoked by ${cutText(event.by, 80)}`)]
    case 'log.signed':
      return [dim(`signed up to event ${event.to}`)]
    case 'history.compacted':
      return [dim(`the first ${event.replaces} entries were compacted`)]
    case 'history.rewound':
      return [dim('a message was said anew; what followed it before is no longer read')]
    case 'session.configured':
      return [dim('settings changed')]
    case 'hook.acted':
      return [
        dim(
          `hook ${event.hook}: ${event.change}${event.reason === undefined ? '' : `, ${cutText(event.reason)}`}`,
        ),
      ]
    case 'model.sampled':
      return [dim(`${cutText(event.by, 80)} asked ${cutText(event.model, 80)} during the call`)]
    case 'payment.recorded':
      return [dim(`payment ${event.payment.slice(0, 14)}: ${event.change.state ?? 'changed'}`)]
    case 'policy.applied':
      return [dim(`rules  version ${cutText(event.version, 40)}`)]
    case 'turn.asked':
    case 'request.accepted':
      return []
  }
}

function answerLine(part: AnswerPart, { bold, cyan, dim, yellow }: Styles): string {
  if (part.type === 'text') return `${cyan('model')}  ${cutText(part.text)}`
  if (part.type === 'thinking') return dim(`think  ${cutText(part.text)}`)
  if (part.type === 'call')
    return `${yellow('call')}   ${bold(cutText(part.name, 128))} ${cutText(part.text)}`
  return dim(`vendor ${cutText(part.tool, 128)} ${cutText(part.summary)}`)
}

type ApprovalEvent = Extract<Event, { type: `approval.${string}` }>

function approvalLines(event: ApprovalEvent, name: string, { dim, green, red, yellow }: Styles): string[] {
  switch (event.type) {
    case 'approval.requested':
      return [
        `${yellow('asks')}   ${name} may not run by itself (${cutText(event.rule, 80)})${detail(event.reason)}`,
        ...(event.v === 2 ? [dim(`needs  ${cutText(describeApprovers(event.approvers), 300)}`)] : []),
        ...(event.again ? [`${yellow('call')}   ${name} ${cutText(event.again.text)}`] : []),
      ]
    case 'approval.voted':
      return [`${green('vote')}   ${name} by ${cutText(event.by, 80)}: more people have to allow it`]
    case 'approval.refused': {
      const what = event.granted ? 'allow' : 'deny'
      return [`${red('refused')} ${cutText(event.by, 80)} may not ${what} ${name}${detail(event.why)}`]
    }
    case 'approval.expired':
      return [dim(`late   the question about ${name} has expired`)]
    case 'approval.decided': {
      const verdict = event.granted ? green('allowed') : red('denied')
      return [`${verdict} ${name} by ${cutText(event.by, 80)}${detail(event.reason)}`]
    }
  }
}

type RuleEvent = Extract<Event, { type: 'call.forbidden' | 'policy.shadowed' }>
type CallEvent = Exclude<Extract<Event, { callId: string }>, RuleEvent>

function callLines(event: CallEvent, tool: string, style: Styles): string[] {
  const { dim, green, red, yellow } = style
  const name = style.bold(tool)
  switch (event.type) {
    case 'call.handed':
      return [dim(`handed ${name} to the application`)]
    case 'call.claimed':
      return [dim(`claimed ${name} by ${cutText(event.by, 80)}`)]
    case 'approval.requested':
    case 'approval.voted':
    case 'approval.refused':
    case 'approval.expired':
    case 'approval.decided':
      return approvalLines(event, name, style)
    case 'call.edited':
      return [`${yellow('edited')} ${name} by ${cutText(event.by, 80)}${detail(event.text)}`]
    case 'call.allowed':
      return [dim(`allowed ${name} (${cutText(event.rule, 80)})`)]
    case 'call.started':
      if (event.allowed) return [dim(`allowed ${name} (${cutText(event.allowed.rule, 80)})`)]
      return event.attempt > 1 ? [dim(`started ${name}, attempt ${event.attempt}`)] : []
    case 'question.asked':
      return [`${yellow('asks')}   ${name}: ${cutText(event.message)}${detail(event.url)}`]
    case 'question.answered':
      return [`${answerWords[event.action]} by ${cutText(event.by, 80)}${detail(contentText(event.content))}`]
    case 'question.expired':
      return [dim(`late   the question of ${name} has expired`)]
    case 'question.withdrawn':
      return [dim(`gone   the question of ${name} was withdrawn`)]
    case 'budget.decided':
      return [dim(budgetWords(event))]
    case 'call.postponed':
      return [dim(`later  ${name} gives its result until ${new Date(event.expiresAt).toISOString()}`)]
    case 'call.delegated':
      return [
        `${yellow('agent')}  ${cutText(event.agent, 128)} works for ${name} in session ${event.session}`,
      ]
    case 'call.used':
    case 'call.referenced':
      return []
    case 'agent.changed':
      return [`${yellow('agent')}  ${cutText(event.agent, 128)} goes on with the conversation`]
    case 'call.suspended':
      return [dim(`waits  ${name} waits for its calls`)]
    case 'call.reconciled':
      return [`checked ${name} by ${cutText(event.by, 80)}: ${foundWords[event.found]}`]
    case 'call.settled':
    case 'call.late': {
      const { kind, parts, ms } = event.outcome
      const outcome = `${kind === 'ok' ? green(kind) : red(kind)}${event.type === 'call.late' ? ' (too late)' : ''}`
      const time = ms === undefined ? '' : dim(` ${Math.round(ms)} ms`)
      return [`${outcome}     ${name}${time}  ${cutText(joinText(parts) || '(no text)')}`]
    }
  }
}

function ruleLine(event: RuleEvent, name: string): string {
  const rule = `(${cutText(event.rule, 80)})`
  if (event.type === 'call.forbidden') return `denied ${name} ${rule}`
  return `shadow ${name} would be: ${event.verdict}, not ${event.given} ${rule}${detail(event.reason)}`
}

function budgetWords({ to, limit }: BudgetDecided): string {
  return to === undefined ? 'budget the turn ends' : `budget ${limit} may reach ${to}`
}

const foundWords = { ran: 'it ran', 'did-not-run': 'it did not run' } as const
const answerWords = { accept: 'answered', decline: 'declined', cancel: 'cancelled' } as const

function contentText(content: object | undefined): string | undefined {
  return content && JSON.stringify(content)
}

function detail(text: string | undefined): string {
  return text === undefined ? '' : `: ${cutText(text)}`
}

function cutText(text: string, maxChars = longestText): string {
  return printable(text, { maxChars })
}
