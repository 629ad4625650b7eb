// A turn as a program gets it: items while it runs, and a reply when it stops. Everything is a copy, so that a program
// can change it without reaching the session. Pure.
import type { ImpliedTool, ToolTypes } from '../config/config.ts'
import type { PlainError, SessionCall } from '../engine/index.ts'
import type { Restriction } from '../language/approvers.ts'
import type { Outcome } from '../language/calls.ts'
import { joinText } from '../language/content.ts'
import type { Event, LimitName, TurnStop } from '../language/events.ts'
import type { FlowFact } from '../language/flow.ts'
import type { FormSchema } from '../language/questions.ts'
import type { Report } from '../language/report.ts'
import { type Shown, type ShownCall, type ShownEnd, ShownFold, type ShownWait } from '../language/show.ts'
import { type Json, parseBounded } from '../lib/json/index.ts'

/**
 * A call that waits. `needs`: a decision, the result of one of the program's own tools, or the answer to a question that the
 * tool asks while it runs.
 */
export type PendingCall = Omit<Restriction, 'requesters'> & {
  callId: string
  tool: string
  input: Json
  reason?: string
  /** The changes to files that the call would make, if its tool gives a preview. */
  preview?: Report
  /** Where its arguments came from, if that is why it asks. */
  flow?: FlowFact[]
  /** Of the arguments. */
  hash: string
} & ({ needs: 'permission' | 'result' } | { needs: 'answer'; question: PendingQuestion })

/** A question of a running call: to fill in the form `schema`, or to open `url`. */
export type PendingQuestion = {
  id: string
  message: string
  schema?: FormSchema
  url?: string
  expiresAt?: number
}

/** `Answer`: the type of `object`. */
export type Reply<Answer = unknown> =
  /**
   * The turn is over. `error` goes with the stop `error`, `limit` with the stop `limit`. `object`: the text as data, where the agent
   * has the setting `answer`, the turn came to its end and the schema's own check took the data.
   */
  | { status: 'done'; text: string; object?: Answer; stop: TurnStop; limit?: LimitName; error?: PlainError }
  /** The turn goes on once these calls are answered. */
  | { status: 'waiting'; text: string; pending: PendingCall[] }
  /** The message was taken back before it was delivered. */
  | { status: 'withdrawn'; text: string }

/** The model wants a tool, or the call `parent` made this call. `input` is text where it is no JSON. */
export type CalledItem = { type: 'call'; callId: string; tool: string; input: Json; parent?: string }

/** What the compiler knows of the turns of a session: items of results, and answers as data. */
export type TurnTypes = { result: ResultItem; answer: unknown }

export type TurnItem<Known extends TurnTypes = TurnTypes> =
  /** A piece of the model's answer. Pieces add up to the answer. */
  | { type: 'text'; text: string }
  | { type: 'thinking'; text: string }
  | CalledItem
  /** A call waits, as of now; other calls may still run. */
  | ({ type: 'pending' } & PendingCall)
  /** Someone tried to decide who may not. */
  | { type: 'refused'; callId: string; tool: string; by: string; granted: boolean; why: string }
  | { type: 'progress'; callId: string; tool: string; message?: string; done?: number; total?: number }
  /** Output of a tool while it runs. */
  | { type: 'output'; callId: string; tool: string; text: string; terminal?: string }
  /** Which files a call works on, what it changes and what it runs. Each member replaces what was reported before. */
  | { type: 'report'; callId: string; tool: string; report: Report }
  | Known['result']
  /** The last item. */
  | { type: 'end'; reply: Reply<Known['answer']> }

export type ResultItem<Name extends string = string, Structured = unknown> = {
  type: 'result'
  callId: string
  tool: Name
  outcome: Outcome<Structured>
}

/**
 * `item.tool === 'x'` narrows `item.outcome.structured` to what the tool's output schema says. `Other`: names of tools of which the
 * compiler knows nothing else. If it does not know all names, every comparison is allowed and nothing is narrowed.
 */
export type ResultOf<Known extends ToolTypes, Other extends string> = string extends Known['name'] | Other
  ? ResultItem
  :
      | (Known extends ToolTypes ? ResultItem<Known['name'], Known['output']> : never)
      | ResultItem<Other | ImpliedTool>

/** Makes items of events, and remembers what the reply needs. */
export class TurnReader {
  readonly #shown: ShownFold
  /** The model's last words. */
  text: string
  ended: ShownEnd | undefined

  /** `calls`: those of an answer that came before the first event. */
  constructor(calls: readonly SessionCall[], text = '') {
    this.text = text
    this.#shown = new ShownFold(calls)
  }

  /** Takes an event of which nobody is shown anything. */
  note(event: Event): Shown | undefined {
    const shown = this.#shown.take(event)
    if (shown?.type === 'answer') this.text = joinText(shown.answer.parts) || this.text
    else if (shown?.type === 'turn') this.ended = undefined
    else if (shown?.type === 'end') this.ended = shown.end
    return shown
  }

  /** The tool of a call of this turn. */
  toolName(callId: string): string {
    return this.#shown.calls.get(callId)?.part.name ?? ''
  }

  take(event: Event): TurnItem[] {
    const shown = this.note(event)
    switch (shown?.type) {
      case 'answer':
        return shown.calls.map(calledItem)
      case 'call':
        return [calledItem(shown.call)]
      case 'waits':
        return pendingCall(shown).map(pending => ({ type: 'pending', ...pending }))
      case 'voted': {
        // It waits still, for more people.
        const wait = this.#shown.waits.get(shown.callId)
        return wait ? pendingCall(wait).map(pending => ({ type: 'pending', ...pending })) : []
      }
      case 'refused': {
        const { callId, call, attempt } = shown
        const { by, granted, why } = attempt
        return [{ type: 'refused', callId, tool: call?.part.name ?? '', by, granted, why }]
      }
      case 'result': {
        const { callId, call, outcome } = shown
        return [{ type: 'result', callId, tool: call?.part.name ?? '', outcome: structuredClone(outcome) }]
      }
      default:
        return []
    }
  }
}

export function pendingCalls(calls: readonly SessionCall[]): PendingCall[] {
  const hashes = new Map(calls.map(({ part, argsHash }) => [part.id, argsHash]))
  const waits = [...new ShownFold(calls).waits.values()]
  return waits.flatMap(wait => pendingCall(wait, hashes.get(wait.callId)))
}

/** `hash`: of the arguments of a call that asks a question, if it is known. None for a call that is not known. */
function pendingCall(wait: ShownWait, hash = ''): PendingCall[] {
  if (!wait.call) return []
  const { callId } = wait
  const called = { callId, tool: wait.call.part.name, input: parseCallInput(wait.call) }
  if (wait.for === 'result') return [{ ...called, needs: 'result', hash: wait.argsHash }]
  if (wait.for === 'answer')
    return [{ ...called, needs: 'answer', question: pendingQuestion(wait.question), hash }]
  const { argsHash, reason, preview, flow, approvers, votes } = wait.asked
  return [
    {
      ...called,
      needs: 'permission',
      ...(reason !== undefined && { reason }),
      ...(preview && { preview: structuredClone(preview) }),
      ...(flow && { flow: structuredClone(flow) }),
      ...(approvers && { approvers: structuredClone(approvers) }),
      ...(votes && { votes: structuredClone(votes) }),
      hash: argsHash,
    },
  ]
}

function pendingQuestion({ id, message, schema, url, expiresAt }: PendingQuestion): PendingQuestion {
  return {
    id,
    message,
    ...(schema && { schema: structuredClone(schema) }),
    ...(url !== undefined && { url }),
    ...(expiresAt !== undefined && { expiresAt }),
  }
}

function calledItem(call: ShownCall): CalledItem {
  const { part, parent } = call
  const called = { type: 'call', callId: part.id, tool: part.name, input: parseCallInput(call) } as const
  return parent === undefined ? called : { ...called, parent }
}

function parseCallInput({ part, text }: ShownCall): Json {
  if (part.form === 'text') return text
  if (text.trim() === '') return {}
  return parseBounded(text) ?? text
}
