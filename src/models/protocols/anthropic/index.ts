// Anthropic Messages as a protocol: what the API looks like. Where it is and who pays is a provider's.
//
// Body fields that are not the API's own: `betas` is a list that becomes a header.

import type { Protocol } from '../../protocol.ts'
import { halt, hasRun, initial, type Reading, type State, step } from './decode.ts'
import { takesDeferred } from './deferred.ts'
import { prepare, protocolName } from './encode.ts'
import { failure } from './failure.ts'

export const anthropicMessages: Protocol<State, Reading> = {
  name: protocolName,
  // Of many pictures in one request none may be larger; in base64 one may have 5 MB.
  images: { edge: 2000, bytes: 3_750_000 },
  searchesTools: takesDeferred,
  prepare,
  initial,
  step,
  halt,
  hasRun,
  failure,
}
