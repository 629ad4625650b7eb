// The engine as one caller may use it. It reaches only the caller's own sessions, unless the caller is an operator. Decisions,
// grants and messages are the caller's own, whatever the request says. Turns that the caller starts count towards the
// limits of the session's owner, and belong to the caller's trace. Wires get no other engine, so no wire can give a caller
// another owner's session.
import type {
  Command,
  CreatedSession,
  Engine,
  LookUpAnswer,
  LookUpQuery,
  SessionChange,
  SessionRef,
} from '../engine/ports/boundary.ts'
import { type CallName, callByName, ForwardingEngine } from '../engine/ports/forward.ts'
import { type Person, toPerson } from '../language/approvers.ts'
import { sessionNotFound } from '../language/errors.ts'
import { stoppable } from '../lib/async/stoppable.ts'
import type { Caller } from './caller.ts'
import type { WorkLimits } from './owner-limits.ts'

export type { CallName }

/** Commands that set a session to work. */
const startsTurn: ReadonlySet<Command['do']> = new Set(['say', 'respond', 'call', 'undo', 'complete'])

export class BoundEngine extends ForwardingEngine {
  protected readonly caller: Caller
  readonly #engine: Engine
  readonly #limits: WorkLimits

  constructor(engine: Engine, limits: WorkLimits, caller: Caller) {
    super()
    this.#engine = engine
    this.#limits = limits
    this.caller = caller
  }

  protected override forward<Name extends CallName>(
    name: Name,
    ...args: Parameters<Engine[Name]>
  ): ReturnType<Engine[Name]> {
    return this.#pass(name, ...args)
  }

  #pass<Name extends CallName>(name: Name, ...args: Parameters<Engine[Name]>): ReturnType<Engine[Name]> {
    const [about] = args as unknown[]
    const owner = name === 'list' ? about : ownerIn(about)
    // The arguments and the answer are those of the call of this name.
    if (owner === undefined || this.#mayReach(owner))
      return callByName(this.#engine, name, args) as ReturnType<Engine[Name]>
    return Promise.reject(sessionNotFound()) as ReturnType<Engine[Name]>
  }

  /** To anyone but its owner a session does not exist. */
  override async lookUp<Query extends LookUpQuery>(query: Query): Promise<LookUpAnswer<Query>> {
    const answer = await super.lookUp(query)
    if (query.get !== 'owner' || answer === undefined || this.#mayReach(answer)) return answer
    return undefined as LookUpAnswer<Query> // The answer of this question where there is none.
  }

  override changes(signal?: AbortSignal): ReturnType<Engine['changes']> {
    if (this.caller.operator) return this.#engine.changes(signal)
    return stoppable(stop => this.#ownChanges(stop), signal)
  }

  async *#ownChanges(signal: AbortSignal): AsyncGenerator<readonly SessionChange[]> {
    for await (const batch of this.#engine.changes(signal)) {
      const own = batch.filter(change =>
        this.#mayReach(change.type === 'removed' ? change.owner : change.row.owner),
      )
      if (own.length > 0) yield own
    }
  }

  override create(create: Parameters<Engine['create']>[0]): ReturnType<Engine['create']> {
    const { say, ...rest } = create
    const creating = this.#limits.creating(create.owner, () => this.#pass('create', rest))
    return say ? creating.then(made => this.#sayFirst(create.owner, made, say)) : creating
  }

  /** As a command of its own, so that it passes what commands pass. */
  async #sayFirst(owner: string, made: CreatedSession, say: Command): Promise<CreatedSession> {
    if (made.existing) return made
    return { ...made, accepted: await this.command({ owner, session: made.session }, say) }
  }

  override command(...[ref, command]: Parameters<Engine['command']>): ReturnType<Engine['command']> {
    const act = (): ReturnType<Engine['command']> => this.#pass('command', ref, this.#signed(ref, command))
    return startsTurn.has(command.do) ? this.#limits.starting(ref.owner, ref.session, act) : act()
  }

  override follow(...[ref, ...rest]: Parameters<Engine['follow']>): ReturnType<Engine['follow']> {
    this.#refuseOthers(ref.owner)
    return this.#engine.follow(ref, ...rest)
  }

  override attach(...[ref, ...rest]: Parameters<Engine['attach']>): ReturnType<Engine['attach']> {
    this.#refuseOthers(ref.owner)
    return this.#engine.attach(ref, ...rest)
  }

  override answerOnce(
    ...[request, signal]: Parameters<Engine['answerOnce']>
  ): ReturnType<Engine['answerOnce']> {
    this.#refuseOthers(request.owner)
    // The signal of a caller aborts at the latest when its answer has been sent.
    this.#limits.answering(request.owner, signal)
    const trace = request.trace ?? this.caller.trace
    return this.#engine.answerOnce(trace ? { ...request, trace } : request, signal)
  }

  /** With the person who commands, and for a turn that it starts, the trace of the request. */
  #signed({ owner }: SessionRef, command: Command): Command {
    switch (command.do) {
      case 'say':
      case 'call':
      case 'undo': {
        const { name, trace: callers } = this.caller
        const isOwner = name === undefined || name === owner
        const trace = command.trace ?? callers
        if (isOwner && !trace && !command.requesters) return command
        const { requesters: _, ...start } = command
        return { ...start, ...(trace && { trace }), ...(!isOwner && { requesters: [name] }) }
      }
      case 'respond': {
        const { decisions } = command
        if (decisions.length === 0) return command
        const people = [callerPerson(this.caller)]
        return { ...command, decisions: decisions.map(decision => ({ ...decision, people })) }
      }
      case 'grant':
        return { ...command, grant: { ...command.grant, people: [callerPerson(this.caller)] } }
      default:
        return command
    }
  }

  #mayReach(owner: unknown): boolean {
    return this.caller.operator === true || owner === this.caller.owner
  }

  #refuseOthers(owner: string): void {
    if (!this.#mayReach(owner)) throw sessionNotFound()
  }
}

function callerPerson({ owner, name = owner, roles }: Caller): Person {
  return toPerson({ name, roles })
}

/** The owner that a call names, in a reference or a question. */
function ownerIn(about: unknown): string | undefined {
  return typeof about === 'object' && about !== null && 'owner' in about ? String(about.owner) : undefined
}
