// An open session, as the code that judges and runs calls uses it.
import type { Event } from '../../language/events.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { LoggedSession } from '../log/logged-session.ts'
import type { Accepted, Command, FollowItem, SessionRef } from '../ports/boundary.ts'
import type { Admission, Agent, AppContext, FlowLog, Limits, Tool } from '../ports/index.ts'
import type { Context, Create, EditedArguments } from '../rules/commands.ts'
import type { IdenticalCalls } from '../rules/identical.ts'
import type { Offer } from '../rules/offer.ts'
import type { CallState, SessionState } from '../rules/state.ts'

export type CallSession = LoggedSession & {
  /** The agent that has the conversation now. */
  readonly agent: Agent
  readonly limits: Limits
  readonly context: Context
  readonly offer: Offer
  readonly stopping: boolean
  readonly driver: CallLoop
  /** Sessions that work for calls of others. */
  readonly subSessions: WorkingSessions
  /** The repeated calls of the current turn. */
  readonly identicalCalls: IdenticalCalls
  /** Made when a call is judged; most open sessions wait for something. */
  admissions: KnownAdmission[] | undefined
  /** What a gate that follows values keeps with the session. */
  flowMemory: FlowMemory | undefined
  /** Context for tools from the caller of the current turn. Gone after a restart. */
  readonly requestApp: Partial<AppContext> | undefined
  /** With opened secrets and defaults. For tools and models only. */
  options(): Record<string, string>
  /** Applies events now and writes them soon. `deferrable`: they may wait up to the store's `lingerMs` for others. */
  record(events: readonly Event[], deferrable?: boolean): void
  /** Records events and waits until they are durable. */
  save(events: readonly Event[]): Promise<void>
  /** Resolves when every event so far is durable. */
  flushed(): Promise<void>
  /** Offers a tool of the session's own beside those of its agent, if it does not have it yet. */
  addTool(name: string, make: () => Tool): void
  /** `look` is called whenever something was recorded. Gives a function that ends this. */
  watchRecords(look: () => void): () => void
  /** This copy no longer counts: stops everything that runs for it and closes its feed. */
  lose(reason: unknown): void
  keepBlob(blob: { name: string; body: string }): Promise<void>
}

/** The loop of the session, as a running call uses it. */
export type CallLoop = {
  /** How long the loop has worked on the current turn. */
  readonly workedMs: number
  /** Something changed: continues if there is anything to do. */
  wake(): void
  /** A call asked a person something. */
  asked(): void
  /** The call makes calls of its own, and holds no place while they run. */
  giveWay(callId: string): void
  /** Nobody waits for this call any more. */
  abortCall(callId: string): void
}

/** An open call and the gate's verdict on its arguments. */
export type KnownAdmission = {
  call: CallState
  text: string
  sealed: string | undefined
  tool: ToolDeclaration
  admission: Admission | Promise<Admission>
}

/** Kept while the session's agent and the agent's tools are the same. */
export type FlowMemory = { agent: Agent; tools: Agent['tools']; memory: FlowLog['memory'] }

/** Sessions that work for calls of other sessions, as the call that one works for uses it. */
export type WorkingSessions = {
  /** The session that works for this call: made if it is not there yet. */
  make(create: Create, key: string): Promise<SessionRef>
  command(ref: SessionRef, command: Command): Promise<Accepted>
  /** Its events from number `from` on, until it rests or waits. */
  follow(ref: SessionRef, from: number, signal: AbortSignal): AsyncIterable<readonly FollowItem[]>
  state(ref: SessionRef): Promise<SessionState>
  /** Whether other arguments would be allowed there. Rejects with `invalid_edit`. */
  judgeEdit(ref: SessionRef, callId: string, text: string): Promise<EditedArguments>
  /** Ends its turn, and with it whatever works for its own calls. Never rejects. */
  cancel(ref: SessionRef): Promise<void>
}
