// Gemini's generateContent as a protocol; Vertex differs only in the provider's base URL. The vendor stores nothing: the
// whole history is sent, with the model's own parts and signatures in place.
//
// Quirks: `openapi-schemas` declares tools by `parameters` instead of `parametersJsonSchema`;
// `no-thought-signatures` treats a model as older than version 3, whatever its name is.

import type { Protocol } from '../../protocol.ts'
import { halt, hasRun, initial, type Reading, type State, step } from './decode.ts'
import { prepare, protocolName } from './encode.ts'
import { failure } from './failure.ts'

export const geminiGenerate: Protocol<State, Reading> = {
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
