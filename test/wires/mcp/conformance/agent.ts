// An agent with the tools that the conformance suite calls, declared as any user declares them.
import { tool } from '../../../../src/index.ts'

const input = { type: 'object' as const, properties: {} }
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const sound = Buffer.from(
  'RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\0\0\0\0\0\0\0\0\x01\0\x08\0data\0\0\0\0',
  'latin1',
)

const image = { type: 'image' as const, url: `data:image/png;base64,${pixel}` }
const file = (mediaType: string, body: string | Buffer, name: string) => ({
  type: 'file' as const,
  mediaType,
  name,
  url: `data:${mediaType};base64,${Buffer.from(body).toString('base64')}`,
})

/** Tools of the suite run without asking: what they do is harmless. */
const of = (name: string) => ({
  name,
  description: `${name} of the suite.`,
  input,
  trust: 'trusted' as const,
})

export const suiteTools = [
  tool({ ...of('test_simple_text'), run: () => 'This is a simple text response for testing.' }),
  tool({ ...of('test_image_content'), run: () => image }),
  tool({ ...of('test_audio_content'), run: () => file('audio/wav', sound, 'sound.wav') }),
  tool({
    ...of('test_embedded_resource'),
    run: () => file('text/plain', 'This is an embedded resource content.', 'note.txt'),
  }),
  tool({
    ...of('test_multiple_content_types'),
    run: () => [
      { type: 'text' as const, text: 'Multiple content types test:' },
      image,
      file('application/json', '{"test":"data","value":123}', 'data.json'),
    ],
  }),
  tool({
    ...of('test_error_handling'),
    run: () => {
      throw new Error('This tool intentionally returns an error for testing')
    },
  }),
  tool({
    ...of('test_tool_with_progress'),
    run: (_, context) => {
      for (const done of [0, 50, 100]) context.progress({ done, total: 100 })
      return 'Done.'
    },
  }),
  tool({
    ...of('test_header'),
    input: {
      type: 'object' as const,
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    },
    run: () => 'x',
  }),
  tool({
    ...of('json_schema_2020_12_tool'),
    input: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object' as const,
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
    run: () => 'x',
  }),
]
