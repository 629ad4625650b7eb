// What events add to the spending of an owner and an agent, by day. Pure, and of the events alone: it is stored with them, so that
// it is counted once whatever happens to the process.
import { budgetToolName } from '../../language/calls.ts'
import type { Event, Usage } from '../../language/events.ts'
import type { Spending, Spent } from '../ports/store.ts'
import { periodsAt } from './budgets.ts'

/** What an answer without a session adds. */
export function answerSpending(
  answer: Answered,
  { owner, agent }: { readonly owner: string; readonly agent: string },
  now: number,
): Spending {
  const own = nothing()
  add(own, usedInAnswer(answer))
  return { day: periodsAt(now).day, owner, agent, own, workers: nothing() }
}

/** Sessions that work for a call report to their parent what they used: that is the agent's, and not once more the owner's. */
export function readSpending(
  events: readonly Event[],
  { owner, agent }: { readonly owner: string; readonly agent: string },
): Spending[] {
  const days: Spending[] = []
  for (const event of events) {
    const used = usedIn(event)
    if (!used) continue
    const { day } = periodsAt(event.at)
    let entry = days.find(each => each.day === day)
    if (!entry) {
      entry = { day, owner, agent, own: nothing(), workers: nothing() }
      days.push(entry)
    }
    add(event.type === 'call.used' ? entry.workers : entry.own, used)
  }
  return days
}

type Answered = { usage?: Usage; parts: readonly { type: string }[] }
type Used = { usage: Usage | undefined; calls: number }

function usedIn(event: Event): Used | undefined {
  switch (event.type) {
    case 'model.answered':
      return usedInAnswer(event)
    case 'call.nested': {
      const counts = !event.mirrors && event.call.name !== budgetToolName
      return counts ? { usage: undefined, calls: 1 } : undefined
    }
    case 'call.used':
      return { usage: event.usage, calls: event.calls }
    case 'model.sampled':
    case 'history.compacted':
      return { usage: event.usage, calls: 0 }
    default:
      return undefined
  }
}

function usedInAnswer({ usage, parts }: Answered): Used {
  return { usage, calls: parts.filter(({ type }) => type === 'call').length }
}

function nothing(): Spent {
  return { tokens: 0, money: 0, calls: 0 }
}

function add(sum: Spent, { usage, calls }: Used): void {
  sum.tokens += usage ? usage.input + usage.output : 0
  sum.money += usage?.cost ?? 0
  sum.calls += calls
}
