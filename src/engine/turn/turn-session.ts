// An open session, as its loop and commands use it.
import type { Outcome } from '../../language/calls.ts'
import type { Event, Grant, ModelAnswered, Settings } from '../../language/events.ts'
import type { CallLoop, CallSession } from '../calls/call-session.ts'
import type { Accepted, GivenAnswer, GivenResult, RequestKey } from '../ports/boundary.ts'
import type { AppContext, ModelRequest } from '../ports/index.ts'
import type { Decision, DirectCall, Respond, Say } from '../rules/commands.ts'
import type { Action } from '../rules/next.ts'
import type { CallState } from '../rules/state.ts'

export type TurnSession = CallSession & {
  readonly driver: TurnLoop
  next(): Action
  /** The next request to the model. */
  request(): ModelRequest
  /** Throws if this copy was lost, or the engine stops. */
  refuseIfGone(): void
  /** Writes deferred events now: the loop rests. */
  flush(): void
  /** Context for tools from the caller of the current turn. Gone after a restart. */
  requestApp: Partial<AppContext> | undefined
}

export type TurnLoop = CallLoop & {
  /** Calls that run now. */
  readonly callsRunning: number
  /** Aborts when the turn is ended, another starts, or the session is lost. */
  readonly turnSignal: AbortSignal
  /** An action is done under manual control. */
  readonly performing: boolean
  /** One action under manual control, with everything that it starts. Only one at a time. */
  performAlone(action: Action): Promise<void>
  /** Resolves when the loop has come to rest and no call is running, but for calls that wait for a person's answer. */
  settle(): Promise<void>
  /** Resolves when every started call has returned, including aborted ones. A tool may never return. */
  returned(): Promise<void>
  /** Stops the model step and nothing else. Gives its partial answer, to record. */
  cutStep(): ModelAnswered[]
  /** Their tools are asked what became of these calls, which count as running. `unclear`: their outcome if nobody knows. */
  check(calls: readonly CallState[], unclear: () => Outcome): void
  isChecking(callId: string): boolean
}

/** The same, with its commands. Each resolves once its events are durable. */
export type CommandedSession = TurnSession & {
  say(say: Say & { app?: Partial<AppContext> }): Promise<Taken>
  call(call: Omit<DirectCall, 'form'>): Promise<Taken>
  /** `afterStop`: refused while the turn still runs, although the calls wait already. */
  respond(answers: Answers, afterStop?: boolean): Promise<Taken>
  configure(settings: Partial<Settings>): Promise<void>
  /** Remembers a permission, or a refusal, for calls to come. Gives its id. */
  grant(grant: Omit<Grant, 'id'>): Promise<string>
  revoke(grantId: string, by: string): Promise<void>
  /** Ends the turn now, whatever it is doing, and leaves a valid history. */
  cancel(): Promise<boolean>
  /** Signs the log as far as it can be signed now. Throws `bad_request` if logs are not signed. */
  signLog(): Promise<void>
  /** Records what `decide` gives, once for each request key, and wakes the loop. */
  accept(request: RequestKey | undefined, decide: () => Event[]): Promise<Taken>
}

/**
 * `first` is the number of the first event of the request; `replayed`: it was accepted before, and nothing was done.
 * `turn` is the turn that it started or continued, which may be over by the time that it is durable.
 */
export type Taken = {
  first: number
  replayed: boolean
  count: number
  at: number
  turn?: string
  message?: NonNullable<Accepted['message']>
}

/** A client's own results and a person's decisions, as a wire hands them over. */
export type Answers = Omit<Respond, 'results' | 'decisions' | 'answers'> & {
  results: GivenResult[]
  decisions: (Omit<Decision, 'edit'> & { edit?: string })[]
  answers?: GivenAnswer[]
}
