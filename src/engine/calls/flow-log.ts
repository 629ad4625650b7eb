// The log of a session as a gate that follows values reads it. Only agents whose gate does so come here.

import { isSpoken, joinText } from '../../language/content.ts'
import { isUsers } from '../../language/flow.ts'
import type { Entry } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { FlowLog } from '../ports/index.ts'
import { toCallResult } from '../rules/evolve.ts'
import { nestedCalls } from '../rules/nested.ts'
import { type CallState, findCall, type SessionState } from '../rules/state.ts'
import type { CallSession } from './call-session.ts'

/** An open session, or one that is read from its log. */
type FlowSession = Pick<CallSession, 'state' | 'agent' | 'offer' | 'flowMemory'> & {
  readonly subSessions: Pick<CallSession['subSessions'], 'state'>
}

function keptMemory(session: FlowSession): FlowLog['memory'] {
  const { agent, flowMemory: known } = session
  const { tools } = agent
  if (known?.agent === agent && known.tools === tools) return known.memory
  const memory = {}
  session.flowMemory = { agent, tools, memory }
  return memory
}

/** A promise for a session that works for another: the user's words are there. */
export function readFlowLog(session: FlowSession, call: CallState): FlowLog | Promise<FlowLog> {
  const { state } = session
  if (!state.parent) return new SessionFlowLog(session, call)
  return readParents(session, state).then(parent => new SessionFlowLog(session, call, parent))
}

/** A class for its accessors: most judgements read little of it. */
class SessionFlowLog implements FlowLog {
  readonly entries: readonly Entry[]
  readonly view: readonly Entry[]
  readonly parent?: NonNullable<FlowLog['parent']>
  readonly memory: FlowLog['memory']
  readonly #session: FlowSession
  readonly #call: CallState

  constructor(session: FlowSession, call: CallState, parent?: FlowLog['parent']) {
    this.#session = session
    this.#call = call
    this.entries = session.state.entries
    this.view = session.state.view
    this.memory = keptMemory(session)
    if (parent) this.parent = parent
  }

  get nested(): FlowLog['nested'] {
    const { parent } = this.#call
    return parent === undefined ? none : settledBefore(this.#session.state, parent)
  }

  get system(): string | undefined {
    return this.#session.agent.system
  }

  get isHidden(): boolean {
    return this.#call.sealed !== undefined
  }

  /** Also one that this turn is not offered, and not the client's tool of the same name: results of both may stand in the log. */
  find(name: string): ToolDeclaration | undefined {
    const { agent, offer } = this.#session
    const offered = offer.byName.get(name)
    if (offered?.side === 'server') return offered.tool
    return agent.tools.find(tool => tool.name === name) ?? offered?.tool
  }
}

const none: FlowLog['nested'] = []

/** By the call that makes it, and by the calls that made this one: each may have passed on what it read. */
function settledBefore(state: SessionState, parent: string): FlowLog['nested'] {
  const above = findCall(state, parent)?.parent
  const beside = nestedCalls(state, parent).flatMap(call =>
    call.stage === 'settled' && call.outcome ? [{ call: call.part, result: toCallResult(call) }] : [],
  )
  return above === undefined ? beside : [...settledBefore(state, above), ...beside]
}

/** The one at the top has the user. A task is written by a model, which may have read anything before. */
async function readParents(session: FlowSession, worker: SessionState): Promise<FlowLog['parent']> {
  let state = worker
  let tainted = false
  while (state.parent) {
    const { owner, parent } = state
    state = await session.subSessions.state({ owner, session: parent.session })
    tainted ||= mayHaveRead(state)
  }
  return { words: state.view.flatMap(userWords), tainted }
}

function userWords(entry: Entry): string[] {
  return entry.role === 'user' ? [joinText(entry.parts.filter(isUsers))] : []
}

/** Its tools are another agent's, so that any result counts. */
function mayHaveRead({ entries, view, batch }: SessionState): boolean {
  const reads = (entry: Entry): boolean => {
    if (entry.role === 'tool')
      return entry.results.some(
        ({ outcome }) => outcome.from.source !== 'runtime' || outcome.thrown !== undefined,
      )
    if (entry.role === 'assistant') return entry.parts.some(part => part.type === 'hosted')
    return entry.role === 'user' && !entry.parts.every(isSpoken)
  }
  const isElsewhere = view !== entries && view.some(reads)
  return (
    isElsewhere ||
    entries.some(reads) ||
    batch.some(({ parent, stage }) => parent !== undefined && stage === 'settled')
  )
}
