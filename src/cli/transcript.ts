// A session's log for people: one line per thing that happened, in the order in which it did. Everything that models,
// tools and clients wrote is bounded and made printable.
import type { CallPart } from '../language/calls.ts'
import { textOf } from '../language/content.ts'
import type { Event, Recorded } from '../language/events.ts'
import { printable } from '../lib/text.ts'
import type { Styles } from './style.ts'

const longest = 2000

export function transcriptOf(log: readonly Recorded[], style: Styles): string {
  const calls = new Map<string, CallPart>()
  let text = ''
  for (const { event } of log) {
    if (event.type === 'model.answered')
      for (const part of event.parts) if (part.type === 'call') calls.set(part.id, part)
    for (const line of linesOf(event, calls, style))
      text += `${style.dim(new Date(event.at).toISOString().slice(11, 19))}  ${line}\n`
  }
  return text
}

/** What the models read and wrote in all, and what that cost where it is known. Empty: nothing was counted. */
export function spentIn(log: readonly Recorded[]): string {
  let tokens = 0
  let cost = 0
  for (const { event } of log) {
    if ((event.type !== 'model.answered' && event.type !== 'history.compacted') || !event.usage) continue
    tokens += event.usage.input + event.usage.output
    cost += event.usage.cost ?? 0
  }
  if (tokens === 0) return ''
  const price = cost === 0 ? '' : `, cost ${cost < 0.01 ? cost.toPrecision(2) : cost.toFixed(2)}`
  return `${tokens.toLocaleString('en')} tokens${price}`
}

function linesOf(event: Event, calls: ReadonlyMap<string, CallPart>, style: Styles): string[] {
  const { bold, dim, cyan, green, red, yellow } = style
  const nameOf = (callId: string): string => bold(shown(calls.get(callId)?.name ?? callId, 128))
  switch (event.type) {
    case 'session.created':
      return [dim(`session of ${shown(event.agent, 128)} created over ${shown(event.wire, 40)}`)]
    case 'turn.started':
      return [`${cyan('user')}   ${shown(textOf(event.parts) || '(no text)')}`]
    case 'turn.asked':
      return []
    case 'model.answered':
      return event.parts.map(part => {
        if (part.type === 'text') return `${cyan('model')}  ${shown(part.text)}`
        if (part.type === 'thinking') return dim(`think  ${shown(part.text)}`)
        if (part.type === 'call')
          return `${yellow('call')}   ${bold(shown(part.name, 128))} ${shown(part.text)}`
        return dim(`vendor ${shown(part.tool, 128)} ${shown(part.summary)}`)
      })
    case 'call.handed':
      return [dim(`handed ${nameOf(event.callId)} to the application`)]
    case 'approval.requested':
      return [
        `${yellow('asks')}   ${nameOf(event.callId)} may not run by itself (${shown(event.rule, 80)})${event.reason === undefined ? '' : `: ${shown(event.reason)}`}`,
      ]
    case 'approval.decided': {
      const verdict = event.granted ? green('allowed') : red('denied')
      return [
        `${verdict} ${nameOf(event.callId)} by ${shown(event.by, 80)}${event.reason === undefined ? '' : `: ${shown(event.reason)}`}`,
      ]
    }
    case 'call.edited':
      return [`${yellow('edited')} ${nameOf(event.callId)} by ${shown(event.by, 80)}: ${shown(event.text)}`]
    case 'call.allowed':
      return [dim(`allowed ${nameOf(event.callId)} (${shown(event.rule, 80)})`)]
    case 'call.started':
      if (event.allowed) return [dim(`allowed ${nameOf(event.callId)} (${shown(event.allowed.rule, 80)})`)]
      return event.attempt > 1 ? [dim(`started ${nameOf(event.callId)}, attempt ${event.attempt}`)] : []
    case 'call.settled':
    case 'call.late': {
      const { kind, parts, ms } = event.outcome
      const late = event.type === 'call.late' ? ' (too late)' : ''
      const time = ms === undefined ? '' : dim(` ${Math.round(ms)} ms`)
      return [
        `${kind === 'ok' ? green(kind) : red(kind)}${late}     ${nameOf(event.callId)}${time}  ${shown(textOf(parts) || '(no text)')}`,
      ]
    }
    case 'turn.ended':
      return [
        dim(
          `turn over: ${event.stop}${event.limit === undefined ? '' : ` (${event.limit})`}${event.error ? `: ${shown(event.error.message)}` : ''}`,
        ),
      ]
    case 'control.taken':
    case 'control.returned':
      return [
        `${yellow(event.type === 'control.taken' ? 'taken over' : 'given back')} by ${shown(event.by, 80)}`,
      ]
    case 'grant.given':
      return [dim(`grant for ${shown(event.grant.tool, 128)} by ${shown(event.grant.by, 80)}`)]
    case 'grant.revoked':
      return [dim(`grant revoked by ${shown(event.by, 80)}`)]
    case 'history.compacted':
      return [dim(`the first ${event.replaces} entries were compacted`)]
    case 'session.configured':
      return [dim('settings changed')]
    case 'request.accepted':
      return []
  }
}

function shown(text: string, maxChars = longest): string {
  return printable(text, { maxChars })
}
