// The exports of `turnwire/client`, the SDK for applications. It runs in browsers and in Node.

export type { ServerConnections } from '../wires/connect/schema.ts'
export { AapClient, type CallOptions, type SendOptions, type TurnRequest } from './client.ts'
export * from './deltakit.ts'
export { AapError } from './errors.ts'
export { TurnFold } from './fold.ts'
export { OperatorClient, type OperatorOptions, type SecretPlace } from './operator.ts'
export * from './operator-types.ts'
export { type PendingCalls, pendingCalls } from './pending.ts'
export {
  type ResponsesOptions,
  type ResponsesResult,
  type ResponsesTool,
  runResponses,
} from './responses.ts'
export type { ClientTool, Permission, RunTurnOptions, RunTurnResult } from './run-turn.ts'
export { AapSession } from './session.ts'
export type { SessionCall, SessionItem } from './session-fold.ts'
export type { SessionTurn, TurnEnd, TurnOptions } from './session-turn.ts'
export type { ClientOptions } from './transport.ts'
export type { TurnStream } from './turn-stream.ts'
export * from './types.ts'
export type { Watched, WatchOptions } from './watch.ts'
