// Sessions that work for calls of other sessions: made once per call, told what was decided, followed, and ended with the
// call. Each is a session like any other, with a log of its own; nobody but the call that it works for gives it commands.
import { hasCode, TurnwireError } from '../../language/errors.ts'
import type { SessionParent } from '../../language/events.ts'
import type { WorkingSessions } from '../calls/call-session.ts'
import { judgeEdit } from '../calls/judge.ts'
import { Follower } from '../log/follow.ts'
import type { Accepted, Command, FollowItem, SessionRef } from '../ports/boundary.ts'
import type { Create, EditedArguments } from '../rules/commands.ts'
import { findCall, type SessionState } from '../rules/state.ts'
import { type LoadedCommand, runCommand } from '../turn/run-command.ts'
import type { LoadOptions, OpenSessions } from './open-sessions.ts'
import type { Session } from './session.ts'

export class SubSessions implements WorkingSessions {
  readonly #sessions: OpenSessions

  constructor(sessions: OpenSessions) {
    this.#sessions = sessions
  }

  /** The session that works for this call: made if it is not there yet. */
  async make(create: Create, key: string): Promise<SessionRef> {
    const { id } = await this.#sessions.make(create, { key, hash: key })
    return { owner: create.owner, session: id }
  }

  command(ref: SessionRef, command: LoadedCommand): Promise<Accepted> {
    return this.#use(ref, session => runCommand(session, command))
  }

  /** Its events from number `from` on, until it rests or waits. */
  async *follow(ref: SessionRef, from: number, signal: AbortSignal): AsyncIterable<readonly FollowItem[]> {
    const options = { from, until: 'stop' as const, deltas: 'none' as const }
    if (!this.#sessions.inMemory(ref)) await this.#sessions.ports.summon?.(ref.session)
    yield* { [Symbol.asyncIterator]: () => new Follower(this.#sessions, ref, options, signal) }
  }

  /** It belongs where the call is that it works for: a node that has it gives it up. */
  async #use<Result>(
    ref: SessionRef,
    act: (session: Session) => Result | Promise<Result>,
    options?: LoadOptions,
  ): Promise<Result> {
    const { summon } = this.#sessions.ports
    try {
      return await this.#sessions.use(ref, act, options)
    } catch (error) {
      if (!summon || !hasCode(error, 'moved')) throw error
      await summon(ref.session)
      return this.#sessions.use(ref, act, options)
    }
  }

  state(ref: SessionRef): Promise<SessionState> {
    return this.#sessions.state(ref)
  }

  /** Whether other arguments would be allowed there. Rejects with `invalid_edit`. */
  judgeEdit(ref: SessionRef, callId: string, text: string): Promise<EditedArguments> {
    return this.#use(ref, session => {
      const call = findCall(session.state, callId)
      if (!call) throw new TurnwireError('unknown_call', 'The call is over in the session that it runs in.')
      return judgeEdit(session, call, text)
    })
  }

  /** Ends its turn, and with it whatever works for its own calls. Never rejects. */
  async cancel(ref: SessionRef): Promise<void> {
    await this.#use(ref, session => session.cancel(), { cancelling: true }).catch(() => {
      // It is gone, or the engine stops: there is nothing to end.
    })
  }
}

/** Commands from outside reach a session that works for a call only through that call. */
export function refuseIfWorking({ session, call }: SessionParent, command: Command): void {
  if (command.do === 'cancel' || command.do === 'cancel-call' || command.do === 'reconcile') return
  throw new TurnwireError(
    'controlled',
    `This session works for the call "${call}" of session "${session}". Answer there; it can be read and cancelled here.`,
  )
}
