// An agent with the tools that the conformance suite calls, declared as any user declares them.
import { setTimeout as pause } from 'node:timers/promises'
import { ProtocolFailure } from '../../../../src/engine/ports/index.ts'
import { prompt, resource, tool } from '../../../../src/index.ts'
import type { FormSchema } from '../../../../src/language/questions.ts'
import type { JsonObject } from '../../../../src/lib/json/index.ts'

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

const form = (properties: Record<string, JsonObject>, required: string[] = []): FormSchema => ({
  type: 'object',
  properties,
  required,
})

/** A tool that asks the person one thing. */
function asking(
  name: string,
  properties: Record<string, JsonObject>,
  required: string[] = [],
  message = 'Please fill in.',
) {
  return tool({
    ...of(name),
    run: async (_, context) => {
      const answer = await context.ask({ message, schema: form(properties, required) }, { key: 'user_name' })
      const content = answer.action === 'accept' ? answer.content : {}
      return `Elicitation completed: action=${answer.action}, content=${JSON.stringify(content)}`
    },
  })
}

export const suiteTools = [
  tool({ ...of('test_simple_text'), run: () => 'This is a simple text response for testing.' }),
  tool({ ...of('test_reconnection'), run: () => 'The stream was not closed meanwhile.' }),
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
    ...of('test_elicitation'),
    input: {
      type: 'object' as const,
      properties: { message: { type: 'string' } },
      required: ['message'],
    },
    run: async ({ message }, context) => {
      const schema = form({ username: { type: 'string' }, email: { type: 'string' } }, ['username', 'email'])
      const answer = await context.ask({ message: message as string, schema })
      return `User response: ${JSON.stringify(answer)}`
    },
  }),
  asking('test_elicitation_sep1034_defaults', {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  }),
  asking('test_elicitation_sep1330_enums', {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: {
      type: 'string',
      oneOf: [
        { const: 'value1', title: 'First Option' },
        { const: 'value2', title: 'Second Option' },
        { const: 'value3', title: 'Third Option' },
      ],
    },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: {
      type: 'array',
      items: {
        anyOf: [
          { const: 'value1', title: 'First Choice' },
          { const: 'value2', title: 'Second Choice' },
          { const: 'value3', title: 'Third Choice' },
        ],
      },
    },
  }),
  asking(
    'test_input_required_result_elicitation',
    { name: { type: 'string' } },
    ['name'],
    'What is your name?',
  ),
  asking('test_input_required_result_request_state', { ok: { type: 'boolean' } }, ['ok'], 'Please confirm'),
  asking('test_input_required_result_tampered_state', { ok: { type: 'boolean' } }, ['ok'], 'Please confirm'),
  asking('test_streaming_elicitation', { ok: { type: 'boolean' } }, [], 'Please confirm'),
  tool({
    ...of('test_input_required_result_multi_round'),
    run: async (_, context) => {
      await context.ask({
        message: 'Step 1: What is your name?',
        schema: form({ name: { type: 'string' } }, ['name']),
      })
      await context.ask({
        message: 'Step 2: What is your favorite color?',
        schema: form({ color: { type: 'string' } }, ['color']),
      })
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

/** Longer than the calls of this agent may take before they become tasks. */
export const taskAfterMs = 300
const long = (signal: AbortSignal): Promise<void> => pause(3 * taskAfterMs, undefined, { signal })

const confirm = form({ confirm: { type: 'boolean' }, name: { type: 'string' } })

export const taskTools = [
  tool({
    ...of('greet'),
    input: { type: 'object' as const, properties: { name: { type: 'string' } } },
    run: ({ name }) => `Hello, ${name as string}!`,
  }),
  tool({
    ...of('slow_compute'),
    input: {
      type: 'object' as const,
      properties: { seconds: { type: 'number' }, label: { type: 'string' } },
    },
    run: async ({ seconds }, { signal }) => {
      await pause(Number(seconds) * 1000, undefined, { signal })
      return 'Computed.'
    },
  }),
  tool({
    ...of('failing_job'),
    run: async (_, { signal }) => {
      await long(signal)
      throw new Error('The job failed.')
    },
  }),
  tool({
    ...of('protocol_error_job'),
    run: async (_, { signal }) => {
      await long(signal)
      throw new ProtocolFailure(-32603, 'The server of the job broke the protocol.')
    },
  }),
  tool({
    ...of('confirm_delete'),
    input: { type: 'object' as const, properties: { filename: { type: 'string' } } },
    run: async ({ filename }, context) => {
      await long(context.signal)
      const { action } = await context.ask({ message: `Delete ${filename as string}?`, schema: confirm })
      return `${action}: ${filename as string}`
    },
  }),
  tool({
    ...of('multi_input'),
    run: async (_, context) => {
      await long(context.signal)
      const answers = await Promise.all(
        ['one', 'two'].map(key => context.ask({ message: key, schema: confirm }, { key })),
      )
      return answers.map(({ action }) => action).join()
    },
  }),
  tool({
    ...of('test_tool_with_task'),
    run: async (_, context) => {
      const answer = await context.ask(
        { message: 'What is your name?', schema: form({ name: { type: 'string' } }, ['name']) },
        { key: 'user_name' },
      )
      await long(context.signal)
      return `Hello, ${answer.action === 'accept' ? String(answer.content?.['name']) : 'nobody'}.`
    },
  }),
]

export const suiteResources = [
  resource({
    uri: 'test://static-text',
    name: 'Static text',
    description: 'A text.',
    mediaType: 'text/plain',
    read: () => 'This is the content of the static text resource.',
  }),
  resource({
    uri: 'test://static-binary',
    name: 'Static picture',
    description: 'A picture.',
    mediaType: 'image/png',
    read: () => Buffer.from(pixel, 'base64'),
  }),
  resource({
    uri: 'test://template/{id}/data',
    name: 'Data by id',
    description: 'Data.',
    mediaType: 'application/json',
    read: ({ id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
  }),
]

const user = (
  ...parts: Parameters<
    typeof Array.of<typeof image | ReturnType<typeof file> | { type: 'text'; text: string }>
  >
) => parts.map(part => ({ role: 'user' as const, parts: [part] }))

export const suitePrompts = [
  prompt({
    name: 'test_simple_prompt',
    description: 'A simple prompt.',
    get: () => 'This is a simple prompt for testing.',
  }),
  prompt({
    name: 'test_prompt_with_arguments',
    description: 'A prompt with arguments.',
    arguments: [
      {
        name: 'arg1',
        description: 'First test argument',
        required: true,
        values: ['test', 'testing', 'park'],
      },
      { name: 'arg2', description: 'Second test argument', required: true },
    ],
    get: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  }),
  prompt({
    name: 'test_prompt_with_embedded_resource',
    description: 'A prompt with a file.',
    arguments: [{ name: 'resourceUri', description: 'Its address', required: true }],
    get: ({ resourceUri }) =>
      user(file('text/plain', 'Embedded resource content for testing.', resourceUri ?? ''), {
        type: 'text',
        text: 'Please process the embedded resource above.',
      }),
  }),
  prompt({
    name: 'test_prompt_with_image',
    description: 'A prompt with a picture.',
    get: () => user(image, { type: 'text', text: 'Please analyze the image above.' }),
  }),
]
