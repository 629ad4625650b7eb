// OpenAI's Responses API as a protocol. By default the vendor stores nothing: the whole history is sent, with the
// model's own items in place and its reasoning encrypted. A stateful target continues from the last response where
// that is sound.
//
// Quirk: `no-reasoning` is a model that neither gives reasoning nor takes it back.

import type { Protocol } from '../../protocol.ts'
import { halt, hasRun, initial, type Reading, type State, step } from './decode.ts'
import { takesDeferred } from './deferred.ts'
import { prepare, protocolName } from './encode.ts'
import { failure } from './failure.ts'

export { noReasoning } from './failure.ts'

export const openaiResponses: Protocol<State, Reading> = {
  name: protocolName,
  // It scales larger ones down to this itself.
  images: { edge: 2048, bytes: 6_000_000 },
  searchesTools: takesDeferred,
  prepare,
  initial,
  step,
  halt,
  hasRun,
  failure,
}
