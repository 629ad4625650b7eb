// Explains a verdict of the gate from the log: which rule decided about a call, and which value lacked a warrant.
import { type RecordedVerdict, VerdictFold } from '../../engine/index.ts'
import { operatorTrust } from '../../language/calls.ts'
import type { Event } from '../../language/events.ts'
import { type FlowFact, withoutFacts } from '../../language/flow.ts'
import { type Shown, type ShownCall, ShownFold, type ShownWait } from '../../language/show.ts'
import { printable } from '../../lib/text/index.ts'

/** `call`: its id, or its number among the calls of the model. Undefined: there is no such call. */
export function explainCall(events: readonly Event[], call: string): string[] | undefined {
  const fold = new ShownFold()
  const calls: ShownCall[] = []
  const nested: ShownCall[] = []
  const verdicts = new Map<string, string[]>()
  const recorded = new VerdictFold()
  const add = (callId: string, lines: readonly string[]): void =>
    void verdicts.set(callId, [...(verdicts.get(callId) ?? []), ...lines])
  for (const event of events) {
    const shown = fold.take(event)
    const verdict = recorded.take(event)
    if (verdict?.type === 'verdict') add(verdict.callId, explainRecorded(verdict))
    if (shown?.type === 'answer') calls.push(...shown.calls)
    else if (shown?.type === 'call') nested.push(shown.call)
    if (shown && 'callId' in shown) add(shown.callId, explainShown(shown))
  }
  const found = [...calls, ...nested].find(({ part }) => part.id === call) ?? calls[Number(call) - 1]
  if (!found) return undefined
  const { id, name } = found.part
  const number = calls.indexOf(found) + 1
  const head = `${printable(name, 128)}, ${number > 0 ? `call ${number}, ` : ''}${printable(id, 80)}`
  const said = verdicts.get(id) ?? []
  return [head, ...(said.length > 0 ? said : ['  The gate has not decided about it.'])]
}

/** What an event of the verdict alone does not say. Old logs name neither the version nor the rule of a denial. */
function explainRecorded({ verdict, rule, policy }: RecordedVerdict): string[] {
  return [
    ...(policy === undefined ? [] : [`  Judged by version ${printable(policy, 80)} of the rules.`]),
    ...(verdict === 'deny' && rule !== '' ? [`  Refused: ${ruleWords(rule)}`] : []),
  ]
}

function explainShown(shown: Shown): string[] {
  switch (shown.type) {
    case 'waits':
      return explainWait(shown)
    case 'allowed':
      return [`  Runs: ${ruleWords(shown.allowed.rule)}`]
    case 'started':
      return shown.allowed ? [`  Runs: ${ruleWords(shown.allowed.rule)}`] : []
    case 'decided': {
      const { granted, by, reason } = shown.decision
      const words = reason === undefined ? '' : ` ${printable(reason, 500)}`
      return [`  ${granted ? 'Allowed' : 'Refused'} by ${printable(by, 80)}.${words}`]
    }
    case 'result': {
      const { kind, parts, from } = shown.outcome
      const [first] = parts
      if ((kind !== 'denied' && kind !== 'invalid') || from.source === 'person') return []
      return [`  ${kind}: ${first?.type === 'text' ? printable(first.text, 500) : ''}`]
    }
    default:
      return []
  }
}

function explainWait(wait: ShownWait): string[] {
  if (wait.for === 'result') return ['  The application runs it: no policy stands between.']
  if (wait.for === 'answer') return []
  const { rule, reason, flow } = wait.asked
  const own = flow ? withoutFacts(reason, flow) : reason
  const words = own === undefined ? '' : ` ${printable(own, 1000)}`
  return [`  Asks: ${ruleWords(rule)}${words}`, ...(flow ?? []).map(factLine)]
}

function factLine({ argument, value, warranted, why, around, uri }: FlowFact): string {
  const what =
    argument === ''
      ? 'the call'
      : `${printable(argument, 80)}${value === undefined ? '' : ` \`${printable(value, 160)}\``}`
  const where = around === undefined ? '' : ` (“${printable(around, 240)}”)`
  const source = uri === undefined ? '' : `, ${printable(uri, 200)}`
  return `    ${warranted ? 'warranted    ' : 'not warranted'}  ${what}: ${printable(why, 300)}${source}${where}`
}

const words: Readonly<Record<string, string>> = {
  [operatorTrust]: 'by the trust that the operator has in the tool.',
  flow: 'an argument has no warrant.',
  grant: 'by a grant that a person gave.',
  'client-trust': 'by the trust that the client has set.',
  'tool-demand': 'the tool wants a person to decide.',
  'changed-tool': 'its definition has changed.',
}

function ruleWords(rule: string): string {
  return words[rule] ?? `by the rule ${printable(rule, 80)}.`
}
