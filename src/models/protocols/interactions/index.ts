// Gemini Interactions as a protocol. By default the vendor stores nothing: all steps are sent, with thoughts in their
// places. A stateful target continues from the last interaction where that is sound. Tools, instructions and settings
// are sent every time.
//
// Quirk: `no-thought-signatures` treats a model as older than version 3, whatever its name is.

import type { Protocol } from '../../protocol.ts'
import { halt, hasRun, initial, type Reading, type State, step } from './decode.ts'
import { prepare, protocolName } from './encode.ts'
import { failure } from './failure.ts'

export const geminiInteractions: Protocol<State, Reading> = {
  name: protocolName,
  // It scales larger ones down to this itself.
  images: { edge: 3072, bytes: 6_000_000 },
  prepare,
  initial,
  step,
  halt,
  hasRun,
  failure,
}
