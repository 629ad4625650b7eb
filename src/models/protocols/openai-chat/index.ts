// Chat Completions as a protocol: OpenAI's own API, and the servers that are compatible with it. Features that a server
// lacks are declared as quirks (quirks.ts). Deviations in what servers send need no quirk: decoding reads all of them.

import type { Protocol } from '../../protocol.ts'
import { halt, hasRun, initial, type Reading, type State, step } from './decode.ts'
import { prepare, protocolName } from './encode.ts'
import { failure } from './failure.ts'
import { MAX_TOOLS } from './tools.ts'

export type { State } from './decode.ts'
export { type ChatQuirk, chatQuirks, compatibleQuirks } from './quirks.ts'

export const openaiChat: Protocol<State, Reading> = {
  name: protocolName,
  // It scales larger ones down to this itself.
  images: { edge: 2048, bytes: 6_000_000 },
  mostTools: MAX_TOOLS,
  prepare,
  initial,
  step,
  halt,
  hasRun,
  failure,
}
