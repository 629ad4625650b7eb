// The commands from outside that gave the events of a recording: messages, decisions, answers, settings, grants. What the engine
// itself made of them is not an input.
import type { Command, SessionState } from '../engine/index.ts'
import type { Ask, Event } from '../language/events.ts'
import { present } from '../lib/json/present.ts'
import { listCallParts, type Recording } from './recording.ts'

type EventOf<Type extends Event['type']> = Extract<Event, { type: Type }>
type Decided = Pick<
  EventOf<'approval.decided'>,
  'callId' | 'granted' | 'by' | 'reason' | 'roles' | 'remember'
>
type Before = { request?: GivenKey; ask?: Ask; edit?: { callId: string; text: string } }
type GivenKey = { key: string; hash: string; again?: 'always' }

export class RecordedInputs {
  readonly #events: readonly Event[]
  /** The arguments of a call as they were given, if they were sealed. */
  readonly #exact: (callId: string, given: { text: string; sealed?: string }) => string
  /** Events that stand before an input in the log and belong to it. */
  #before: Before = {}

  constructor(
    { events }: Recording,
    exact: (callId: string, given: { text: string; sealed?: string }) => string,
  ) {
    this.#events = events
    this.#exact = exact
  }

  /** The command that gave the event at `index`. `state`: of the replayed session, which may not be asked for this any more. */
  command(index: number, state: SessionState): Command | undefined {
    const event = this.#events[index]
    if (!event || this.#collect(event, index)) return undefined
    const before = this.#before
    this.#before = {}
    switch (event.type) {
      case 'session.configured':
        this.#before = present({ request: before.request })
        return { do: 'configure', settings: { ...event.settings, options: {} } }
      case 'turn.started':
        return this.#startTurn(event, index, before.request)
      case 'message.queued': {
        const { parts, wire, during, ask } = event
        return { do: 'say', parts, wire, during, ...present({ ask }) }
      }
      case 'message.withdrawn':
        return { do: 'withdraw', message: event.message, by: event.by, ...present({ reason: event.reason }) }
      case 'approval.decided':
        return this.#decide(event, index, before, state)
      case 'approval.voted':
        return this.#decide({ ...event, granted: true }, index, before, state)
      case 'call.reconciled':
        // A model asks by a call of its own.
        return event.by === 'model' ? undefined : { do: 'reconcile', callId: event.callId, by: event.by }
      case 'question.answered':
        return answerQuestion(event, state)
      case 'grant.given': {
        const { id, copyOf: _, ...grant } = event.grant
        return state.grants.has(id) ? undefined : { do: 'grant', grant }
      }
      case 'grant.revoked':
        return { do: 'revoke', grantId: event.grantId, by: event.by }
      default:
        this.#before = before
        return undefined
    }
  }

  /** True: it belongs to the input that follows. */
  #collect(event: Event, index: number): boolean {
    if (event.type === 'request.accepted') {
      const rest = this.#events.slice(index + 1, index + 1 + event.events)
      const again = rest.some(({ type }) => type === 'history.rewound') && { again: 'always' as const }
      // A request that was made again has a number behind its key.
      this.#before = { request: { key: event.key.replace(/#\d+$/, ''), hash: event.hash, ...again } }
    } else if (event.type === 'turn.asked') this.#before = { ask: event.ask }
    else if (event.type === 'call.edited')
      this.#before = { edit: { callId: event.callId, text: this.#exact(event.callId, event) } }
    else return event.type === 'history.rewound'
    return true
  }

  #startTurn(
    { parts, wire, ask, turn, requesters }: EventOf<'turn.started'>,
    index: number,
    request: GivenKey | undefined,
  ): Command | undefined {
    const before = this.#events[index - 1]
    // The engine starts it by itself.
    if (before?.type === 'message.delivered' && before.turn === turn) return undefined
    const next = this.#events[index + 1]
    if (ask?.direct && next?.type === 'model.answered') {
      const [call] = listCallParts(next)
      const by = next.model.slice('caller:'.length)
      if (ask.undoes !== undefined) return { do: 'undo', callId: ask.undoes, by, wire }
      return call && { do: 'call', wire, by, tool: call.name, text: call.text, ...present({ requesters }) }
    }
    return { do: 'say', parts, wire, ...present({ ask, request, requesters }) }
  }

  #decide(
    { callId, granted, by, reason, roles, remember: isRemembered }: Decided,
    index: number,
    { edit: edited, ask }: Before,
    { batch }: SessionState,
  ): Command | undefined {
    const asking = batch.find(({ part, stage }) => part.id === callId && stage === 'asking')
    if (!asking) return undefined
    const next = this.#events[index + 1]
    const isGiven = isRemembered === true || (next?.type === 'grant.given' && next.grant.by === by)
    const people = [{ name: by, roles: roles ?? [] }]
    const edit = edited?.callId === callId ? edited.text : undefined
    const decision = { callId, granted, by, people, ...present({ reason, edit, seen: asking.argsHash }) }
    const decisions = [isGiven ? { ...decision, remember: true as const } : decision]
    return { do: 'respond', results: [], decisions, ...present({ ask }) }
  }
}

function answerQuestion(
  { question, action, content, by }: EventOf<'question.answered'>,
  { batch }: SessionState,
): Command | undefined {
  const isOpen = batch.some(({ questions = [] }) =>
    questions.some(({ id, closed }) => id === question && closed === undefined),
  )
  const answers = [{ question, action, by, ...present({ content }) }]
  return isOpen ? { do: 'respond', results: [], decisions: [], answers } : undefined
}
