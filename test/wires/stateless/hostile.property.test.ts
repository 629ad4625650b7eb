// A stateless wire reads any JSON body or refuses it in its own words; it never fails with a defect. The bodies are made by
// putting arbitrary values in the places of a valid request.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TurnwireError } from '../../../src/language/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../src/lib/json/index.ts'
import { decodeChatRequest } from '../../../src/wires/chat/decode.ts'
import { decodeGeminiRequest } from '../../../src/wires/gemini/decode.ts'
import { decodeMessagesRequest } from '../../../src/wires/messages/decode.ts'
import { findTarget } from '../../../src/wires/stateless/index.ts'
import { about } from './rig.ts'

const chat: JsonObject = {
  model: 'helper',
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'x' },
        { type: 'image_url', image_url: { url: 'https://x/y' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'a', content: 'y' },
  ],
  tools: [
    { type: 'function', function: { name: 'f', parameters: { type: 'object' } } },
    {
      type: 'custom',
      custom: { name: 'g', format: { type: 'grammar', grammar: { syntax: 'regex', definition: 'a' } } },
    },
  ],
  tool_choice: {
    type: 'allowed_tools',
    allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] },
  },
  response_format: { type: 'json_schema', json_schema: { name: 'n', schema: {} } },
  stop: 'x',
  stream: true,
  stream_options: { include_usage: true },
}
const messages: JsonObject = {
  model: 'helper',
  max_tokens: 10,
  system: [{ type: 'text', text: 's' }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'document', source: { type: 'text', data: 'd' } },
        { type: 'text', text: 'x' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 't', signature: 's' },
        { type: 'tool_use', id: 'a', name: 'f', input: {}, caller: { type: 'direct' } },
      ],
    },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'y' }] }],
    },
  ],
  tools: [{ name: 'f', input_schema: { type: 'object' } }],
  tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true },
  output_config: { format: { type: 'json_schema', schema: {} } },
  stop_sequences: ['x'],
}
const gemini: JsonObject = {
  contents: [
    { role: 'user', parts: [{ text: 'x' }, { inlineData: { mimeType: 'image/png', data: 'aaaa' } }] },
    { role: 'model', parts: [{ functionCall: { id: 'a', name: 'f', args: {} }, thoughtSignature: 's' }] },
    {
      role: 'user',
      parts: [{ functionResponse: { id: 'a', name: 'f', response: { output: 1 }, parts: [] } }],
    },
  ],
  systemInstruction: { parts: [{ text: 's' }] },
  tools: [
    {
      functionDeclarations: [
        { name: 'f', parameters: { type: 'OBJECT', properties: { a: { type: 'STRING' } } } },
      ],
    },
  ],
  toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
  generationConfig: { maxOutputTokens: 1, responseSchema: { type: 'OBJECT' }, stopSequences: ['x'] },
}

type Path = (string | number)[]

function placesIn(value: Json, path: Path = []): Path[] {
  if (Array.isArray(value)) return [path, ...value.flatMap((each, at) => placesIn(each, [...path, at]))]
  if (!isJsonObject(value)) return [path]
  return [path, ...Object.entries(value).flatMap(([key, each]) => placesIn(each, [...path, key]))]
}

/** The same value with another in one place; undefined takes the place away. */
function replaced(value: Json, [key, ...rest]: Path, by: Json | undefined): Json | undefined {
  if (key === undefined) return by
  const copy: Json = Array.isArray(value) ? [...value] : { ...(value as JsonObject) }
  const inner = replaced((copy as JsonObject)[key] ?? null, rest, by)
  if (inner === undefined) delete (copy as JsonObject)[key]
  else (copy as JsonObject)[key] = inner
  return Array.isArray(copy) ? copy.filter(() => true) : copy
}

const anything = fc.oneof(
  fc.constantFrom<Json | undefined>(
    undefined,
    null,
    '',
    ' ',
    'f',
    'a',
    0,
    -1,
    1.5,
    true,
    [],
    {},
    [null],
    [[]],
    [{}],
  ),
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
)

function check(decode: (body: JsonObject) => unknown, right: JsonObject): void {
  assert.doesNotThrow(() => decode(right))
  const places = placesIn(right).filter(path => path.length > 0)
  fc.assert(
    fc.property(
      fc.constantFrom(...places),
      anything,
      fc.constantFrom(...places),
      anything,
      (one, a, two, b) => {
        const body = replaced(replaced(right, one, a) ?? {}, two, b)
        if (!isJsonObject(body)) return
        try {
          decode(body)
        } catch (error) {
          if (!(error instanceof TurnwireError) || error.status >= 500) throw error
        }
      },
    ),
    { numRuns: 1500 },
  )
}

test('chat', () => check(body => decodeChatRequest(body, about), chat))
test('messages', () => check(body => decodeMessagesRequest(body, about), messages))
test('gemini', () =>
  check(body => {
    const target = findTarget(about, 'helper')
    assert.ok(target)
    decodeGeminiRequest(body, target)
  }, gemini))
