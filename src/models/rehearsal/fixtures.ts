// The tools and the asking that the rehearsal model's tests share. Not a part of the model.
import type { ModelAnswer, ModelRequest } from '../../engine/ports.ts'
import type { OutcomeKind } from '../../language/calls.ts'
import type { Entry } from '../../language/history.ts'
import type { ToolDeclaration, ToolInput } from '../../language/tools.ts'
import type { JsonObject } from '../../lib/json.ts'
import { type RehearsalOptions, rehearsal } from './rehearsal.ts'

export function declared(
  name: string,
  description: string,
  input: ToolInput,
  title?: string,
): ToolDeclaration {
  return {
    name,
    ...(title === undefined ? {} : { title }),
    description,
    input,
    kind: 'other',
    readOnly: false,
    idempotent: false,
    destructive: false,
    side: 'server',
  }
}

export function object(properties: JsonObject, required = Object.keys(properties)): ToolInput {
  return { form: 'json', schema: { type: 'object', properties, required, additionalProperties: false } }
}

const text = { type: 'string' }
const email = { type: 'string', format: 'email' }

export const toolbox: readonly ToolDeclaration[] = [
  declared(
    'get_weather',
    'Current weather for a city.',
    object(
      {
        city: { type: 'string', description: 'City name' },
        unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
        days: { type: 'integer', minimum: 1, maximum: 7 },
      },
      ['city'],
    ),
  ),
  declared(
    'send_mail',
    'Sends an e-mail message.',
    object(
      {
        to: { type: 'array', items: email, minItems: 1 },
        subject: text,
        body: text,
        urgent: { type: 'boolean' },
      },
      ['to', 'subject', 'body'],
    ),
    'Mail',
  ),
  declared('read_file', 'Reads a text file.', object({ path: text, limit: { type: 'integer' } }, ['path'])),
  declared('write_file', 'Writes a text file.', object({ path: text, content: text })),
  declared('copy_file', 'Copies a file.', object({ source: text, destination: text })),
  declared(
    'list_directory',
    'Lists the files of a directory.',
    object({ path: text, recursive: { type: 'boolean' } }, ['path']),
  ),
  declared('calculator', 'Evaluates an arithmetic expression.', object({ expression: text })),
  declared(
    'web_search',
    'Searches the web.',
    object({ query: text, max_results: { type: 'integer', minimum: 1, maximum: 10 } }, ['query']),
  ),
  declared('fetch_page', 'Fetches a web page.', object({ url: { type: 'string', format: 'uri' } })),
  declared(
    'create_event',
    'Creates a calendar event.',
    object(
      {
        title: text,
        date: { type: 'string', format: 'date' },
        start: { type: 'string', format: 'date-time' },
        attendees: { type: 'array', items: email },
      },
      ['title', 'date'],
    ),
  ),
  declared(
    'set_light',
    'Turns a lamp in a room on or off.',
    object(
      {
        room: { type: 'string', enum: ['kitchen', 'living room', 'bedroom'] },
        state: { type: 'string', enum: ['on', 'off'] },
        brightness: { type: 'integer', minimum: 0, maximum: 100 },
      },
      ['room', 'state'],
    ),
  ),
  declared('python', 'Runs Python code.', { form: 'text' }),
]

export const user = (words: string): Entry => ({ role: 'user', parts: [{ type: 'text', text: words }] })

/** An assistant's calls and what came of each: `[name, arguments, kind, words]`. */
export function batch(...calls: [string, string, OutcomeKind, string][]): Entry[] {
  return [
    {
      role: 'assistant',
      parts: calls.map(([name, input], at) => ({
        type: 'call',
        id: `${name}_${at}`,
        name,
        form: 'json',
        text: input,
      })),
    },
    {
      role: 'tool',
      results: calls.map(([name, , kind, words], at) => ({
        callId: `${name}_${at}`,
        name,
        outcome: { kind, parts: [{ type: 'text', text: words }], from: { source: 'tool', tool: name } },
      })),
    },
  ]
}

export async function ask(
  history: Entry[],
  request: Partial<ModelRequest> = {},
  options: RehearsalOptions = {},
): Promise<ModelAnswer> {
  const model = rehearsal({ now: () => Date.UTC(2026, 0, 14), ...options })
  const whole = {
    session: 's',
    history,
    tools: toolbox,
    choice: 'auto',
    parallel: true,
    options: {},
    ...request,
  } satisfies ModelRequest
  return model.respond(whole, () => {}, new AbortController().signal)
}

/** An answer as lines: `name arguments` for a call, the words for text. */
export async function lines(
  history: Entry[],
  request: Partial<ModelRequest> = {},
  options: RehearsalOptions = {},
): Promise<string[]> {
  const { parts } = await ask(history, request, options)
  return parts.map(part =>
    part.type === 'call' ? `${part.name} ${part.text}` : part.type === 'hosted' ? part.summary : part.text,
  )
}
