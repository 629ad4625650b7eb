// Everything that `generateContent` refuses, in the order in which it looks. This file checks the fields; tools and
// contents have files of their own. `G-00` is the plain shape of the request.
import type { DoubleRequest } from '../double.ts'
import type { Mode, Rejections } from '../script.ts'
import { asRecord, asRecords, isRecord, type JsonRecord, wordList } from '../shape.ts'
import { checkContents, type GeminiMemory } from './history.ts'

import { field, refuse, unknownFields } from './refusals.ts'
import { checkGeminiTools } from './tools.ts'

const GEMINI_FIELDS = wordList(`
  contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent store model labels
  serviceTier`)
const GENERATION_FIELDS = wordList(`
  audioTimestamp audioTranscriptionConfig candidateCount enableAffectiveDialog enableEnhancedCivicAnswers
  frequencyPenalty imageConfig logprobs maxOutputTokens mediaResolution modelSelectionConfig presencePenalty
  responseFormat responseJsonSchema responseLogprobs responseMimeType responseModalities responseSchema routingConfig
  seed speechConfig stopSequences temperature thinkingConfig topK topP translationConfig`)

export function* checkGemini({ body, route }: DoubleRequest, memory: GeminiMemory, mode: Mode): Rejections {
  if (!isRecord(body)) return yield refuse('G-00', 'Invalid JSON payload received. Expected an object.')
  if (route.kind === 'countTokens') return
  yield* unknownFields(body, GEMINI_FIELDS, '')
  yield* checkGeminiTools(body, mode)
  yield* checkSystemInstruction(body)
  const config = field(body, 'generationConfig')
  if (isRecord(config)) yield* unknownFields(config, GENERATION_FIELDS, 'generation_config')
  else if (config !== undefined) yield refuse('G-00', "Invalid value at 'generation_config'")
  const { model = '', platform } = route.params
  if (isRecord(config)) yield* checkForm(config, body, model)
  yield* checkContents({ body, memory, mode, model, isVertex: platform === 'vertex' })
}

function* checkForm(config: JsonRecord, body: JsonRecord, model: string): Rejections {
  const isJson = field(config, 'responseMimeType') === 'application/json'
  const schemas = ['responseSchema', 'responseJsonSchema'].filter(name => field(config, name) !== undefined)
  if (schemas.length > 1)
    yield refuse('G-00', 'Only one of response_schema and response_json_schema may be set.')
  if (schemas.length > 0 && !isJson)
    yield refuse('G-00', "A response schema requires the response mime type 'application/json'.")
  if (isJson && /gemini-[12][.-]/.test(model) && asRecords(body['tools']).length > 0)
    yield refuse('G-00', "Function calling with a response mime type: 'application/json' is unsupported")
}

function* checkSystemInstruction(body: JsonRecord): Rejections {
  const system = field(body, 'systemInstruction')
  if (system === undefined) return
  const parts = asRecords(asRecord(system)['parts'])
  if (parts.length > 0 && parts.every(part => typeof part['text'] === 'string')) return
  yield refuse('G-14', 'system_instruction: only text parts are supported.')
}
