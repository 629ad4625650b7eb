// Judges a call of a session that is read from its log, or one that nobody made, through the same gate and the same code as a
// call that is under way. It records nothing, runs nothing and asks nobody.
import { TurnwireError } from '../../language/errors.ts'
import type { CallFlow } from '../../language/flow.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { SessionRef } from '../ports/boundary.ts'
import type { Agent, EnginePorts, Tool, Vault, Verdict } from '../ports/index.ts'
import { type MadeOffer, madeOffer, type Offered } from '../rules/offer.ts'
import type { CallState, SessionState } from '../rules/state.ts'
import { exactText } from './hidden-arguments.ts'
import { authorise, type JudgedSession } from './judge.ts'

/** `sealed`: its arguments cannot be opened here. `client`: the application runs it, and no policy stands between. */
export type JudgedCall =
  | { is: 'judged'; verdict: Verdict; flow?: CallFlow; isAssumed: boolean }
  | { is: 'invalid'; reason: string }
  | { is: 'sealed' | 'client' | 'no-agent' | 'no-tool' }

export type RecordedOptions = {
  agent(name: string): Agent | undefined
  /** Opens sealed arguments. Undefined: calls that have some are not judged. */
  vault: Pick<Vault, 'open'> | undefined
  /** Of sessions whose calls this one works for. */
  parent(ref: SessionRef): Promise<SessionState>
  /** A tool that the agent does not have now is judged by its name. */
  assumesTools?: boolean
}

export class RecordedSession {
  readonly state: SessionState
  readonly #options: RecordedOptions
  #now = 0
  /** Kept while its agent is the same: flow control remembers what it has read with it. */
  #judged: { session: JudgedSession; agent: Agent; offer: MadeOffer } | undefined

  /** `state` may go on: each call is judged by it as it stands then. */
  constructor(state: SessionState, options: RecordedOptions) {
    this.state = state
    this.#options = options
  }

  async judge(call: CallState, now: number): Promise<JudgedCall> {
    this.#now = now
    const named = this.#options.agent(this.state.agent)
    const agent = named?.forOwner?.(this.state.owner) ?? named
    if (!agent) return { is: 'no-agent' }
    const session = this.#sessionOf(agent)
    const known = session.offer.byName.get(call.part.name)
    const offered = known ?? (this.#options.assumesTools ? assumeTool(agent, call) : undefined)
    if (!offered) return { is: 'no-tool' }
    if (offered.side === 'client') return { is: 'client' }
    const text = exactText(this.#options.vault, call)
    if (text === undefined) return { is: 'sealed' }
    const { name, form, cut } = call.part
    const admission = await agent.gate.admit(
      { name, form, text, ...(cut && { cut }) },
      offered.tool,
      this.state.owner,
    )
    if (!admission.ok) return { is: 'invalid', reason: admission.reason }
    const grants = [...this.state.grants.values()]
    const verdict = await authorise(session, call, offered, admission, grants)
    const flow = 'flow' in verdict ? verdict.flow : undefined
    return { is: 'judged', verdict, ...(flow && { flow }), isAssumed: known === undefined }
  }

  #sessionOf(agent: Agent): JudgedSession {
    const { state } = this
    const { settings, turn } = state
    const clientOnly = turn?.ask?.clientOnly ?? false
    const { agent: last, offer: made, session } = this.#judged ?? {}
    if (session && last === agent && made?.settings === settings && made.clientOnly === clientOnly)
      return session
    const offer = madeOffer(agent, settings, [], clientOnly)
    const world = { now: () => this.#now } as EnginePorts['world'] // Judging asks it for the time alone.
    const judged: JudgedSession = {
      id: state.id,
      state,
      agent,
      offer: offer.offer,
      flowMemory: undefined,
      ports: { world, log: () => {} },
      subSessions: { state: ref => this.#options.parent(ref) },
    }
    this.#judged = { session: judged, agent, offer }
    return judged
  }
}

/** A tool that `trust: 'deny'` keeps from every model is refused; of any other nothing is known but its name. */
function assumeTool(agent: Agent, { part: { name, form } }: CallState): Extract<Offered, { side: 'server' }> {
  const kept = agent.tools.find(tool => tool.name === name)
  if (kept) return { side: 'server', tool: kept }
  const declaration: ToolDeclaration = {
    name,
    description: '',
    input: form === 'json' ? { form, schema: {} } : { form },
    kind: 'other',
    readOnly: false,
    idempotent: false,
    destructive: true,
    side: 'server',
  }
  const tool: Tool = {
    ...declaration,
    side: 'server',
    trust: 'ask',
    exposed: true,
    timeoutMs: 1,
    retries: 0,
    outputLimit: 1,
    run: () => Promise.reject(new TurnwireError('internal', 'A recorded call is not run.')),
  }
  return { side: 'server', tool }
}
